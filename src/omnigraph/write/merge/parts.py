"""Large tables merged in parts, each a disjoint set of ids: the logic of the Spark job.

Invariant: a part holds every row of its ids that can differ, in the base and on both sides, so it is merged like a
whole table. Only key columns are collected: they suffice to check the merged graph and to locate deleted rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

from omnigraph.compare.tables import TableChanges, changes_schema, compared
from omnigraph.core.tables import TablePin
from omnigraph.history.conflicts import MergeConflict
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.tables.difference import Piece, difference
from omnigraph.write.merge.images import Sides, merged_schema
from omnigraph.write.merge.rows import RowMerge
from omnigraph.write.merge.settling import settle_values
from omnigraph.write.merge.table import RemoteParts, RemoteRows, TableMerge, key_columns


class ImageRole(IntEnum):
    """The version a row was read from, and the comparison it is for."""

    BASE_OF_SOURCE = 0
    SOURCE = 1
    BASE_OF_TARGET = 2
    TARGET = 3


Images = Mapping[ImageRole, pa.Table]
"""The rows of a part by role."""


def pieces_to_read(table: Sides) -> dict[ImageRole, tuple[TablePin, tuple[Piece, ...]]]:
    """The pieces of a table that a merge has to read, computed from fragment lists."""
    source, target, base = table.pins
    of_source, of_target = (difference(table.store, base, pin) for pin in (source, target))
    found = {
        ImageRole.BASE_OF_SOURCE: (base, of_source.before),
        ImageRole.SOURCE: (source, of_source.after),
        ImageRole.BASE_OF_TARGET: (base, of_target.before),
        ImageRole.TARGET: (target, of_target.after),
    }
    return {role: (pin, pieces) for role, (pin, pieces) in found.items() if pin is not None and pieces}


def merge_part(table: Sides, images: Images) -> tuple[TableMerge, TableChanges]:
    """The merge of a part with value resolutions applied, and the changes of the target."""
    source, target, base = table.pins
    empty = changes_schema(table.entity).empty_table()

    def changes(pin: TablePin | None, before: ImageRole, after: ImageRole) -> TableChanges:
        rows = (images.get(before, empty), images.get(after, empty))
        return compared(table.store, table.entity, (base, pin), rows)

    target_changes = changes(target, ImageRole.BASE_OF_TARGET, ImageRole.TARGET)
    merge = RowMerge(table, changes(source, ImageRole.BASE_OF_SOURCE, ImageRole.SOURCE), target_changes).run()
    return settle_values(merge, table.rules.resolutions), target_changes


@dataclass(frozen=True, slots=True)
class MergedPart:
    """The result of a part that the driver collects."""

    keys: pa.Table
    gone_from_base: pa.Table
    gone_from_target: pa.Table
    conflicts: tuple[MergeConflict, ...]
    mixed: frozenset[str]
    also_gone: frozenset[str]
    unwanted: frozenset[str]
    target_holds: pa.Table
    """Keys of entities that the target inserted or updated."""
    target_deleted: pa.Table
    rows_read: int


def part_keys(table: Sides, images: Images) -> MergedPart:
    """Merge a part and return its keys."""
    merge, target_changes = merge_part(table, images)
    names = key_columns(table.entity)
    return MergedPart(
        merge.rows.select(names),
        merge.gone_from_base,
        merge.gone_from_target,
        merge.conflicts,
        merge.mixed,
        merge.also_gone,
        merge.unwanted,
        pa.concat_tables([part.select(names) for part in (target_changes.inserted, target_changes.after)]),
        target_changes.deleted.select(["id"]),
        sum(rows.num_rows for rows in images.values()),
    )


@dataclass(frozen=True)
class PartedMerge:
    """A table merged in parts: keys of the rows to write and of the changes of the target."""

    merge: TableMerge
    target: TableChanges
    rows_read: int


def assemble(entity: Entity, found: Sequence[MergedPart], parts: RemoteParts) -> PartedMerge:
    """Combine the parts of a table."""
    empty = merged_schema(entity).empty_table()
    keys = empty.select(key_columns(entity))
    held = pa.concat_tables([keys, *(item.target_holds for item in found)])
    merge = TableMerge(
        entity,
        empty,
        pa.concat_tables([item.gone_from_base for item in found]),
        pa.concat_tables([item.gone_from_target for item in found]),
        tuple(conflict for item in found for conflict in item.conflicts),
        frozenset().union(*(item.mixed for item in found)),
        frozenset().union(*(item.also_gone for item in found)),
        RemoteRows(pa.concat_tables([keys, *(item.keys for item in found)]), parts),
        frozenset().union(*(item.unwanted for item in found)),
    )
    deleted = pa.concat_tables([keys.select(["id"]), *(item.target_deleted for item in found)])
    target = TableChanges(entity, held, deleted, keys, keys, {})
    return PartedMerge(merge, target, sum(item.rows_read for item in found))


@dataclass(frozen=True, slots=True)
class DistributedMerge:
    """The Spark executor for tables with at least ``rows_min`` rows that can differ."""

    rows_min: int
    merge: Callable[[Sequence[Sides]], list[PartedMerge]]
