"""Committed images of rows to write: omitted cells are completed from them, and equal rows are no change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.compare import differs
from omnigraph.rows.omissions import Cells
from omnigraph.storage.tables.rows_by_address import rows_at
from omnigraph.storage.tables.scan import find_ids
from omnigraph.storage.tables.store import Store

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Images:
    """The committed rows of some rows, in the order of ``positions``, which are their places among these rows."""

    positions: Positions
    rows: pa.Table
    found: Mapping[str, int] | None = None
    """Addresses of the committed rows by id, if they were looked up."""

    def moved(self, places: Sequence[int]) -> Images:
        """The same images among more rows: ``places`` are those of the rows that were looked up."""
        return Images(np.asarray(places, np.int64)[self.positions], self.rows)

    def joined(self, other: Images) -> Images:
        """The images of both."""
        positions = np.concatenate([self.positions, other.positions])
        return Images(positions, pa.concat_tables([self.rows, other.rows]))


def image_schema(entity: Entity) -> pa.Schema:
    """The columns of a type, all nullable: a row that is not complete yet may lack a required value."""
    return pa.schema([field.with_nullable(True).remove_metadata() for field in table_schema(entity)])


def images_at(places: Sequence[int], rows: pa.Table) -> Images:
    """Images that were read before."""
    return Images(np.asarray(places, np.int64), rows)


def no_images(entity: Entity) -> Images:
    """The images of rows that are all new."""
    return Images(np.zeros(0, np.int64), image_schema(entity).empty_table())


def find_images(store: Store, pin: TablePin, entity: Entity, ids: Sequence[str]) -> Images:
    """The committed rows of the ids that exist."""
    found = find_ids(store, pin, ids)
    positions = np.fromiter((place for place, id_ in enumerate(ids) if id_ in found), np.int64)
    addresses = np.fromiter((found[ids[place]] for place in positions.tolist()), np.uint64, len(positions))
    schema = image_schema(entity)
    rows = rows_at(store, pin, addresses, schema) if len(positions) else schema.empty_table()
    return Images(positions, rows, found)


def complete(rows: pa.Table, omitted: Cells | None, images: Images) -> pa.Table:
    """The rows with omitted cells taken from their committed images; cells of other rows stay null."""
    if omitted is None or not len(images.positions):
        return rows
    for number, field in enumerate(rows.schema):
        is_omitted = omitted[images.positions, number]
        if field.name == ID or not is_omitted.any():
            continue
        # Places in the given column followed by the committed one.
        places = np.arange(rows.num_rows)
        places[images.positions[is_omitted]] = rows.num_rows + np.flatnonzero(is_omitted)
        both = pa.concat_arrays([_flat(rows.column(number)), _flat(images.rows.column(field.name))])
        rows = rows.set_column(number, field, both.take(pa.array(places)))
    return rows


def count_cleared(rows: pa.Table, omitted: Cells | None, images: Images) -> int:
    """The number of committed values that become null because the input does not name them."""
    if omitted is None:
        return 0
    cleared = 0
    for number, name in enumerate(rows.schema.names):
        if name != ID:
            is_held = pc.is_valid(_flat(images.rows.column(name))).to_numpy(zero_copy_only=False)
            cleared += int(np.count_nonzero(omitted[images.positions, number] & is_held))
    return cleared


def is_changed(rows: pa.Table, images: Images) -> npt.NDArray[np.bool_]:
    """A mask of the images that differ from their rows."""
    changed = np.zeros(len(images.positions), np.bool_)
    if len(changed):
        places = pa.array(images.positions)
        for name in rows.schema.names:
            if name != ID:
                after = _flat(rows.column(name)).take(places)
                before = _flat(images.rows.column(name))
                changed |= differs(before, after).to_numpy(zero_copy_only=False)
    return changed


def without_unchanged(rows: pa.Table, images: Images) -> pa.Table:
    """The rows that are new or differ from their images."""
    unchanged = images.positions[~is_changed(rows, images)]
    return rows.take(pa.array(np.delete(np.arange(rows.num_rows), unchanged))) if len(unchanged) else rows


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
