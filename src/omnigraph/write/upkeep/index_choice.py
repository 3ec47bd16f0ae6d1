"""Which indexes the table of a type shall have, by what its schema says.

``id`` and the ends of edges are always looked up by value. What ``@index`` and ``@key`` over one property mean depends
on its type: free text is searched by its words, vectors by distance, everything else by value. The text of a key is
looked up by value and by its words, that of an ``@index`` by its words and by its parts. Lists and blobs have no index,
and one over several properties has no physical effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType
from omnigraph.storage.index.indexes import IndexKind, IndexSpec
from omnigraph.write import limits


def wanted_indexes(entity: Entity) -> tuple[IndexSpec, ...]:
    """The indexes of a type, each once."""
    return tuple(dict.fromkeys(_wanted(entity)))


def index_rows_min(kind: IndexKind) -> int:
    """Rows of a table from which an index is worth building."""
    match kind:
        case IndexKind.VECTOR:
            return limits.VECTOR_INDEX_ROWS_MIN
        case IndexKind.NGRAM:
            return limits.NGRAM_INDEX_ROWS_MIN
        case IndexKind.BTREE | IndexKind.TEXT:
            return limits.INDEX_ROWS_MIN


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
