"""Shared types of row merges: changes of one side, merged rows, addresses of replaced rows, and ends as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import BLOB_TYPE, TableChanges, changes_schema, flat
from omnigraph.core.tables import TablePin
from omnigraph.history.conflicts import Resolutions
from omnigraph.history.merge import Policies, Seen
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.ends.references import node_of, referenced, references
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.storage.tables.store import Store
from omnigraph.write.merge.formulas import Formula, FormulaKey

SourceIsNewer = Callable[[list[str], str], list[bool]]
"""For ids and a property: True where the source changed it later than the target."""

SOURCE, TARGET, BASE = 0, 1, 2
"""Numbers of the sides in Arrow columns."""

Pins = tuple[TablePin | None, TablePin | None, TablePin | None]
"""Versions of a table on the source, the target and the base."""

PLACED_BLOB = pa.struct([*BLOB_TYPE, pa.field("side", pa.int8()), pa.field("address", pa.uint64())])
"""A blob in a merged row: the side that holds its bytes, and the row address there."""

LOCATED = pa.schema([pa.field("id", pa.string()), pa.field(ADDRESS, pa.uint64())])
"""Ids and row addresses."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Policies, resolutions and compiled expressions of a merge call."""

    policies: Policies = field(default_factory=Policies)
    resolutions: Resolutions = field(default_factory=Resolutions)
    formulas: Mapping[FormulaKey, Formula] = field(default_factory=dict)


@dataclass(frozen=True)
class Sides:
    """One table to merge. ``pins`` are its versions on the source, the target and the base."""

    store: Store
    entity: Entity
    pins: Pins
    rules: MergeRules
    source_is_newer: SourceIsNewer
    is_crossed: bool = False
    """True after a criss-cross: there are several bases, and addresses of base rows are those in the target."""


def merged_schema(entity: Entity) -> pa.Schema:
    """The Arrow schema of merged rows."""
    return pa.schema(
        [
            pa.field(item.name, PLACED_BLOB if item.type == BLOB_TYPE else item.type, metadata=item.metadata)
            for item in changes_schema(entity)
            if item.name != ADDRESS
        ]
    )


@dataclass(frozen=True, slots=True)
class Changed:
    """Entities that one side changed in one way, with their images in the base."""

    seen: Seen
    rows: pa.Table
    base: pa.Table | None = None
    differs: Mapping[str, pa.BooleanArray] | None = None
    unsure: Mapping[str, pa.BooleanArray] = field(default_factory=dict)

    def at(self, positions: pa.Array) -> Changed:
        return Changed(
            self.seen,
            self.rows.take(positions),
            None if self.base is None else self.base.take(positions),
            None if self.differs is None else {name: mask.take(positions) for name, mask in self.differs.items()},
            {name: mask.take(positions) for name, mask in self.unsure.items()},
        )


def classes(changes: TableChanges) -> tuple[Changed, ...]:
    """The changes of one side by kind: inserted, updated, deleted."""
    return (
        Changed(Seen.OTHER, changes.inserted),
        Changed(Seen.OTHER, changes.after, changes.before, changes.differs, changes.unsure),
        Changed(Seen.GONE, changes.deleted, changes.deleted),
    )


def located(rows: pa.Table) -> pa.Table:
    """Ids and addresses of rows."""
    return pa.Table.from_arrays([flat(rows, "id"), flat(rows, ADDRESS)], schema=LOCATED)


def placed(entity: Entity, rows: pa.Table, *, side: int) -> pa.Table:
    """Rows of one side as merged rows."""
    schema = merged_schema(entity)
    return pa.Table.from_arrays([placed_column(rows, item, side=side) for item in schema], schema=schema)


def placed_column(rows: pa.Table, wanted: pa.Field, *, side: int) -> pa.Array:
    """A column of one side in the type of merged rows."""
    column = flat(rows, wanted.name)
    if wanted.type != PLACED_BLOB:
        return column
    sides = pa.array([side] * len(column), pa.int8())
    parts = [pc.struct_field(column, "size"), pc.struct_field(column, "place"), sides, flat(rows, ADDRESS)]
    return pa.StructArray.from_arrays(parts, fields=list(PLACED_BLOB), mask=pc.is_null(column))


# Ends of edges: merged one by one, the type of one side could meet the id of the other, a node that neither side meant.


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
