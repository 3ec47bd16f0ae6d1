"""The vocabulary of merging rows: what one side changed, merged rows, and where replaced rows lie."""

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
"""Whether the source changed a property of some entities later than the target did."""

SOURCE, TARGET, BASE = 0, 1, 2
"""Sides, as numbers in columns."""

Pins = tuple[TablePin | None, TablePin | None, TablePin | None]
"""A table on each side."""

PLACED_BLOB = pa.struct([*BLOB_TYPE, pa.field("side", pa.int8()), pa.field("address", pa.uint64())])
"""A blob in a merged row: on which side its bytes lie, and in which row there."""

LOCATED = pa.schema([pa.field("id", pa.string()), pa.field(ADDRESS, pa.uint64())])
"""Ids and where their rows lie."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How the caller wants changes of both sides to be settled."""

    policies: Policies = field(default_factory=Policies)
    resolutions: Resolutions = field(default_factory=Resolutions)
    formulas: Mapping[FormulaKey, Formula] = field(default_factory=dict)


@dataclass(frozen=True)
class Sides:
    """A table that is merged. ``pins`` are its versions on the source, on the target and in the base."""

    store: Store
    entity: Entity
    pins: Pins
    rules: MergeRules
    source_is_newer: SourceIsNewer
    is_crossed: bool = False
    """Whether there are several bases: their rows are then located in the target."""


def merged_schema(entity: Entity) -> pa.Schema:
    """The columns in which merged rows stand."""
    return pa.schema(
        [
            pa.field(item.name, PLACED_BLOB if item.type == BLOB_TYPE else item.type, metadata=item.metadata)
            for item in changes_schema(entity)
            if item.name != ADDRESS
        ]
    )


@dataclass(frozen=True, slots=True)
class Changed:
    """Entities that one side changed in one way, with what they were in the base."""

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
    """The changes of one side by what was done."""
    return (
        Changed(Seen.OTHER, changes.inserted),
        Changed(Seen.OTHER, changes.after, changes.before, changes.differs, changes.unsure),
        Changed(Seen.GONE, changes.deleted, changes.deleted),
    )


def located(rows: pa.Table) -> pa.Table:
    """Where rows lie."""
    return pa.Table.from_arrays([flat(rows, "id"), flat(rows, ADDRESS)], schema=LOCATED)


def placed(entity: Entity, rows: pa.Table, *, side: int) -> pa.Table:
    """Rows of one side as merged rows."""
    schema = merged_schema(entity)
    return pa.Table.from_arrays([placed_column(rows, item, side=side) for item in schema], schema=schema)


def placed_column(rows: pa.Table, wanted: pa.Field, *, side: int) -> pa.Array:
    """A column of one side as it stands in merged rows."""
    column = flat(rows, wanted.name)
    if wanted.type != PLACED_BLOB:
        return column
    sides = pa.array([side] * len(column), pa.int8())
    parts = [pc.struct_field(column, "size"), pc.struct_field(column, "place"), sides, flat(rows, ADDRESS)]
    return pa.StructArray.from_arrays(parts, fields=list(PLACED_BLOB), mask=pc.is_null(column))
