"""Shared types of row merges: changes of one side, merged rows, and addresses of replaced rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import BLOB_TYPE, TableChanges, changes_schema, flat
from omnigraph.core.tables import TablePin
from omnigraph.history.conflicts import Resolutions
from omnigraph.history.merge import Policies, Seen
from omnigraph.rows.arrow_types import Entity
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
