"""Index choice by schema: the indexes that the table of a type gets.

====================================  =====================================
column                                indexes
====================================  =====================================
``id``, endpoints of edges            B-tree
``@key`` of free text                 B-tree and full text
``@index`` of free text               full text and n-grams
``@index`` of a vector                vector
``@key``, ``@index`` of other types   B-tree
lists, blobs                          none
constraints over several properties   none
====================================  =====================================
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.tuning import Tuning
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType
from omnigraph.storage.index.indexes import IndexKind, IndexSpec


def wanted_indexes(entity: Entity) -> tuple[IndexSpec, ...]:
    """The indexes of a type, without duplicates."""
    return tuple(dict.fromkeys(_wanted(entity)))


def index_rows_min(kind: IndexKind, tuning: Tuning) -> int:
    """Smallest table, in rows, for which an index is built."""
    match kind:
        case IndexKind.VECTOR:
            return tuning.vector_index_rows_min
        case IndexKind.NGRAM:
            return tuning.ngram_index_rows_min
        case IndexKind.BTREE | IndexKind.TEXT:
            return tuning.index_rows_min


def _wanted(entity: Entity) -> Iterator[IndexSpec]:
    yield IndexSpec(ID, IndexKind.BTREE)
    if isinstance(entity, EdgeType):
        yield IndexSpec(SRC, IndexKind.BTREE)
        yield IndexSpec(DST, IndexKind.BTREE)
    if isinstance(entity, NodeType) and len(entity.key) == 1:
        yield IndexSpec(entity.key[0], IndexKind.BTREE)
        yield from _by_type(entity, entity.key[0])
    for constraint in entity.indexes:
        if len(constraint.properties) == 1:
            for spec in _by_type(entity, constraint.properties[0]):
                yield spec
                if spec.kind is IndexKind.TEXT:
                    yield IndexSpec(spec.column, IndexKind.NGRAM)


def _by_type(entity: Entity, name: str) -> Iterator[IndexSpec]:
    declared = entity.properties.get(name)
    if declared is not None:
        kind = _kind(declared.type)
        if kind is not None:
            yield IndexSpec(name, kind)


def _kind(type_: PropertyType) -> IndexKind | None:
    if type_.is_vector:
        return IndexKind.VECTOR
    if not type_.is_plain_scalar:
        return None
    return IndexKind.TEXT if type_.is_text and type_.enum_values is None else IndexKind.BTREE
