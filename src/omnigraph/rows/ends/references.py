"""Ends of edges in rows: the ids of nodes, with the tags of their types where an end has several.

Checks compare nodes, so they need both as one value. A *reference* is a text for a node at one end: its id where edges
have no tag, else the tag and the id. Within an end two nodes never have one reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import EdgeEnd, EdgeType

UNRESOLVED: Final = "?"
"""The tag of a node whose type the input does not name. No type has this name."""

_MARK: Final = "\x1f"
"""Starts a reference with a tag, and separates both. An id that starts with it is marked twice."""


def end_of(entity: Entity, column: str) -> EdgeEnd | None:
    """The end of an edge type that a column holds; None for any other column."""
    if not isinstance(entity, EdgeType):
        return None
    return next((end for end in entity.ends if end.column == column), None)


def type_columns(entity: Entity) -> tuple[str, ...]:
    """The columns with the tags of the ends."""
    ends = entity.ends if isinstance(entity, EdgeType) else ()
    return tuple(end.type_column for end in ends if end.type_column is not None)


def with_types(entity: Entity, columns: Iterable[str]) -> list[str]:
    """Columns, and behind those of ends the ones with their tags."""
    found: dict[str, None] = {}
    for name in columns:
        end = end_of(entity, name)
        found[name] = None
        if end is not None and end.type_column is not None:
            found[end.type_column] = None
    return list(found)


def references(end: EdgeEnd, table: pa.Table | pa.RecordBatch) -> pa.Array:
    """The references of an end, null where it is null."""
    ids = _flat(table.column(end.column))
    if end.type_column is None:
        return ids
    tags = _flat(table.column(end.type_column))
    is_marked = pc.starts_with(ids, _MARK)
    if pc.any(is_marked).as_py():
        ids = pc.if_else(is_marked, pc.binary_join_element_wise(_MARK, ids, ""), ids)
    return pc.if_else(_is_tagged(end, tags), pc.binary_join_element_wise(_MARK, tags, _MARK, ids, ""), ids)


def node_references(end: EdgeEnd, type_name: str, ids: pa.Array) -> pa.Array:
    """The references of nodes of a type."""
    if end.type_column is None:
        return ids
    tags = pa.repeat(pa.scalar(end.stored_tag(type_name), pa.utf8()), len(ids))
    return references(end, pa.RecordBatch.from_arrays([ids, tags], names=[end.column, end.type_column]))


def reference_texts(end: EdgeEnd, table: pa.Table | pa.RecordBatch) -> list[str]:
    """``references`` as Python values."""
    texts: list[str] = references(end, table).to_pylist()
    return texts


def reference(end: EdgeEnd, type_name: str, id_: str) -> str:
    """The reference of one node."""
    return tagged_reference(end, end.stored_tag(type_name), id_)


def tagged_reference(end: EdgeEnd, tag: str | None, id_: str) -> str:
    """The reference of a node by the values of the two columns."""
    if end.type_column is None:
        return id_
    marked = f"{_MARK}{id_}" if id_.startswith(_MARK) else id_
    return marked if tag is None or tag == end.untagged else f"{_MARK}{tag}{_MARK}{marked}"


def referenced(end: EdgeEnd, text: str) -> tuple[str | None, str]:
    """The tag and the id of a reference."""
    if end.type_column is None:
        return None, text
    tag: str | None = None
    if text.startswith(_MARK) and not text.startswith(_MARK * 2):
        tag, _, text = text[1:].partition(_MARK)
    return tag, text[1:] if text.startswith(_MARK) else text


def node_of(end: EdgeEnd, text: str) -> tuple[str | None, str]:
    """The node type and the id of a reference; the type is None if it is none of this end."""
    tag, id_ = referenced(end, text)
    return end.type_of(tag), id_


def reference_sql(end: EdgeEnd, type_name: str, column: str) -> str:
    """SQL for the references of nodes of a type, given the column of their ids."""
    if end.type_column is None:
        return column
    marked = f"CASE WHEN starts_with({column}, chr(31)) THEN chr(31) || {column} ELSE {column} END"
    tag = end.stored_tag(type_name)
    return f"({marked})" if tag is None else f"(chr(31) || '{tag}' || chr(31) || {marked})"


def is_of_type_sql(end: EdgeEnd, type_name: str, column: str) -> str:
    """A condition of SQL: a reference is that of a node of a type."""
    if end.type_column is None:
        return "true"
    tag = end.stored_tag(type_name)
    if tag is None:
        return f"(NOT starts_with({column}, chr(31)) OR starts_with({column}, chr(31) || chr(31)))"
    return f"starts_with({column}, chr(31) || '{tag}' || chr(31))"


def shown_node(end: EdgeEnd, text: str) -> str:
    """A reference in a message."""
    tag, id_ = referenced(end, text)
    return f"{end.type_of(tag) or tag} '{id_}'" if end.is_typed else f"'{id_}'"


def key_texts_of_end(end: EdgeEnd, table: pa.Table | pa.RecordBatch) -> pa.Array:
    """The texts of an end in keys: ``Post:7``, or the id alone where edges have no tag."""
    ids = _flat(table.column(end.column))
    if end.type_column is None:
        return ids
    tags = _flat(table.column(end.type_column))
    return pc.if_else(_is_tagged(end, tags), pc.binary_join_element_wise(tags, ids, ":"), ids)


def key_text_of_end(end: EdgeEnd, tag: str | None, id_: str) -> str:
    """The text of one end in a key."""
    return id_ if end.type_column is None or tag is None or tag == end.untagged else f"{tag}:{id_}"


def tags_of(end: EdgeEnd, table: pa.Table | pa.RecordBatch) -> pa.Array:
    """The tags of an end; null where edges have none."""
    if end.type_column is None:
        return pa.nulls(table.num_rows, pa.utf8())
    return _flat(table.column(end.type_column))


def is_of_type(end: EdgeEnd, type_name: str, table: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
    """A mask of the rows whose node is of a type."""
    if end.type_column is None:
        return pa.array([True] * table.num_rows, pa.bool_())
    tag = end.tags[end.types.index(type_name)]
    return pc.equal(pc.fill_null(_flat(table.column(end.type_column)), end.untagged), tag)


def shown_types(end: EdgeEnd, tags: pa.Array) -> pa.Array:
    """The names of the node types that tags stand for; a tag of another type stays as it is."""
    if end.type_column is None:
        return pa.array([end.types[0]] * len(tags), pa.utf8())
    names = pc.fill_null(tags, end.untagged)
    for tag, name in zip(end.tags, end.types, strict=True):
        if tag != name:
            names = pc.if_else(pc.equal(names, tag), name, names)
    return names


def shown_names(entity: Entity, columns: Iterable[str]) -> list[str]:
    """The columns that users see. The tags of an end with one type, which once had several, are hidden."""
    ends = entity.ends if isinstance(entity, EdgeType) else ()
    hidden = {end.type_column for end in ends if not end.is_typed}
    return [name for name in columns if name not in hidden or name in entity.properties]


def shown_batch(entity: Entity, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a table as users see them: names of node types in place of tags."""
    for end in entity.ends if isinstance(entity, EdgeType) else ():
        if end.type_column is not None and end.type_column in batch.schema.names:
            place = batch.schema.names.index(end.type_column)
            batch = batch.set_column(place, batch.schema.field(place), shown_types(end, batch.column(place)))
    return batch


def written_node(end: EdgeEnd, value: object) -> tuple[str | None, object]:
    """The type and the id of a node as data writes it: ``{"type": "Post", "id": "7"}``, or the id. Raises Unfit."""
    if not isinstance(value, Mapping):
        return None, value
    from omnigraph.rows.casting.json_values import Unfit
    from omnigraph.rows.violations import shown

    if value.keys() != {"type", "id"}:
        raise Unfit(f'an object has "type" and "id", this one has {", ".join(map(str, value)) or "nothing"}')
    if value["type"] not in end.types:
        raise Unfit(f"{shown(value['type'])} is no type of this end (expected: {', '.join(end.types)})")
    return str(value["type"]), value["id"]


def has_typed_key(entity: Entity) -> bool:
    """True if ids derive from ends with several types.

    A graph where an end got its types one by one derives other ids than one that declared them together, so the ids of
    a file do not count.
    """
    return any(end is not None and end.is_typed for end in (end_of(entity, name) for name in entity.key))


def stored_tags(end: EdgeEnd, names: Sequence[str | None]) -> list[str | None]:
    """The tags of node types by name, each of them one of the end; ``UNRESOLVED`` for None."""
    known = {name: end.stored_tag(name) for name in end.types}
    unnamed = UNRESOLVED if end.is_typed else known[end.types[0]]
    return [unnamed if name is None else known[name] for name in names]


def _is_tagged(end: EdgeEnd, tags: pa.Array) -> pa.BooleanArray:
    return pc.fill_null(pc.not_equal(tags, end.untagged), False)


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
