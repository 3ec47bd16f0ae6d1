"""Ends of edges in a merge: the id of a node and the tag of its type are one value.

Merged one by one, the type of one side could meet the id of the other: a node that neither side meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.ends.references import node_of, referenced, references
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.write.merge.images import Changed


def tagged_ends(entity: Entity) -> tuple[EdgeEnd, ...]:
    """The ends of an edge type that two columns hold."""
    ends = entity.ends if isinstance(entity, EdgeType) else ()
    return tuple(end for end in ends if end.type_column is not None)


def with_references(entity: Entity, changed: Changed) -> Changed:
    """The same changes with references in place of the ids of nodes. The columns of tags lose their meaning."""
    ends = tagged_ends(entity)
    if not ends:
        return changed
    rows, base = changed.rows, changed.base
    for end in ends:
        rows = _referring(end, rows)
        base = None if base is None else _referring(end, base)
    differs = None if changed.differs is None else _joined(ends, changed.differs)
    return replace(changed, rows=rows, base=base, differs=differs, unsure=_joined(ends, changed.unsure))


def _referring(end: EdgeEnd, rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index(end.column)
    return rows.set_column(place, rows.schema.field(place), references(end, rows))


def _joined(ends: tuple[EdgeEnd, ...], masks: Mapping[str, pa.BooleanArray]) -> Mapping[str, pa.BooleanArray]:
    """Masks of the ids of nodes, which are also true where their tags differ."""
    joined = dict(masks)
    for end in ends:
        tag = str(end.type_column)
        if end.column in masks and tag in masks:
            joined[end.column] = pc.or_(masks[end.column], masks[tag])
    return joined


def without_references(entity: Entity, rows: pa.Table) -> pa.Table:
    """Merged rows with ids and tags in their own columns again."""
    for end in tagged_ends(entity):
        parts = [referenced(end, text) for text in rows.column(end.column).to_pylist()]
        for name, values in ((end.type_column, [tag for tag, _ in parts]), (end.column, [id_ for _, id_ in parts])):
            place = rows.schema.get_field_index(str(name))
            rows = rows.set_column(place, rows.schema.field(place), pa.array(values, pa.utf8()))
    return rows


def shown_nodes(end: EdgeEnd, texts: pa.Array) -> pa.Array:
    """References in a conflict: ids, or types and ids where an end has several types."""
    nodes = [None if text is None else node_of(end, text) for text in texts.to_pylist()]
    if not end.is_typed:
        return pa.array([None if node is None else node[1] for node in nodes], pa.utf8())
    shown = [None if node is None else {"type": node[0], "id": node[1]} for node in nodes]
    return pa.array(shown, pa.struct([("type", pa.utf8()), ("id", pa.utf8())]))
