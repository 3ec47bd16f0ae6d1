"""Completion of a small load on one state: partial rows become whole ones, and rows that change nothing are dropped.

This runs in every attempt of a write. After a lost race the rows are completed again from the newer values, so that two
loads of different properties of one entity never lose a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.omissions import Cells
from omnigraph.rows.read.json_records import explicit_id_message, required_message
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.images import (
    Images,
    Positions,
    complete,
    count_cleared,
    find_images,
    is_changed,
    no_images,
    without_unchanged,
)
from omnigraph.write.load.mode import LoadMode


@dataclass(frozen=True, slots=True)
class Completed:
    """The rows of one type, whole, and their committed images."""

    delta: TableDelta
    images: Images
    cleared: int = 0

    @property
    def changed(self) -> TableDelta:
        """The delta without rows that equal their images. An overwrite keeps them, and counts them."""
        if self.delta.replaces_all:
            unchanged = np.count_nonzero(~is_changed(self.delta.rows, self.images))
            return replace(self.delta, kept=int(unchanged))
        rows = without_unchanged(self.delta.rows, self.images)
        # The images do not have the addresses of removed rows.
        found = None if self.delta.removed else self.images.found
        return replace(self.delta, rows=rows, omitted=None, found=found)


def completed(store: Store, capture: Capture, delta: TableDelta, mode: LoadMode, violations: Violations) -> Completed:
    """Complete the rows of one type, and report those that cannot be. An append has no images."""
    if mode is LoadMode.APPEND:
        return Completed(delta, no_images(delta.entity))
    pin = capture.state.tables[delta.entity.table_key]
    images = find_images(store, pin, delta.entity, delta.ids())
    if not mode.is_partial:
        cleared = count_cleared(delta.rows, delta.omitted, images) if mode is LoadMode.MERGE else 0
        return Completed(delta, images, cleared)
    whole = replace(delta, rows=complete(delta.rows, delta.omitted, images))
    new = np.delete(np.arange(delta.rows.num_rows), images.positions)
    if mode is LoadMode.UPDATE:
        _report_missing(delta, new, violations)
    else:
        _report_incomplete(whole, new, violations)
    if delta.entity.key and delta.omitted is not None:
        _report_other_keys(whole, delta.omitted, images, violations)
    return Completed(_with_ends(whole), images)


def missing_violation(entity: Entity, id_: str, place: Place | None) -> Violation:
    """The violation of an update whose entity does not exist."""
    message = f"{entity.name} '{id_}' does not exist; mode update inserts nothing"
    return Violation(ViolationCode.NOT_FOUND, message, entity.table_key, id_, None, place)


def incomplete_violation(entity: Entity, name: str, id_: str, place: Place | None) -> Violation:
    """The violation of a new entity whose row does not name a required value."""
    message = f"{required_message(entity, name)}: {entity.name} '{id_}' does not exist yet"
    return Violation(ViolationCode.REQUIRED, message, entity.table_key, id_, name, place)


def _report_missing(delta: TableDelta, new: Positions, violations: Violations) -> None:
    ids = delta.ids()
    for row in new.tolist():
        violations.add(missing_violation(delta.entity, ids[row], delta.places.get(ids[row])))


def _report_incomplete(delta: TableDelta, new: Positions, violations: Violations) -> None:
    """Report new entities without a required value."""
    if delta.omitted is None:
        return
    ids = delta.ids()
    for number, name in enumerate(delta.rows.schema.names):
        if name != ID and not table_schema(delta.entity).field(name).nullable:
            for row in new[delta.omitted[new, number]].tolist():
                violations.add(incomplete_violation(delta.entity, name, ids[row], delta.places.get(ids[row])))


def _with_ends(delta: TableDelta) -> TableDelta:
    """The rows that have both ends: those that were reported without them cannot be checked further."""
    if not isinstance(delta.entity, EdgeType):
        return delta
    has_ends = pc.and_(pc.is_valid(delta.rows.column(SRC)), pc.is_valid(delta.rows.column(DST)))
    return delta if pc.all(has_ends).as_py() else replace(delta, rows=delta.rows.filter(has_ends))


def _report_other_keys(delta: TableDelta, omitted: Cells, images: Images, violations: Violations) -> None:
    """Report explicit ids of entities whose given members of the key differ from the committed ones."""
    members = [delta.rows.schema.names.index(name) for name in delta.entity.key]
    partly = images.positions[omitted[images.positions][:, members].any(axis=1)]
    rows = delta.rows.take(pa.array(partly))
    derived, given = derived_ids(delta.entity, rows), rows.column(ID).combine_chunks()
    for index in pc.indices_nonzero(pc.fill_null(pc.not_equal(derived, given), True)).to_pylist():
        id_ = given[index].as_py()
        message = explicit_id_message(delta.entity, id_, derived[index].as_py() or "null")
        violations.add(Violation(ViolationCode.KEY, message, delta.entity.table_key, id_, ID, delta.places.get(id_)))


def folded(rows: pa.Table, omitted: Cells | None, last: Sequence[int]) -> tuple[pa.Table, Cells | None]:
    """One row per id: each cell is that of the last row with this id that names it.

    ``last`` are the positions of the last row of every id, ascending.
    """
    if omitted is None:
        return rows.take(pa.array(last, pa.int64())), None
    encoded = rows.column(ID).combine_chunks().dictionary_encode().indices.to_numpy()
    winners = np.asarray(last)
    columns, cells = [], np.zeros((len(winners), rows.num_columns), np.bool_)
    for number, column in enumerate(rows.columns):
        named = np.flatnonzero(~omitted[:, number])
        source = np.full(int(encoded.max()) + 1, -1, np.int64)
        # Of several rows with one id, the last assignment stays.
        source[encoded[named]] = named
        chosen = source[encoded[winners]]
        cells[:, number] = chosen < 0
        columns.append(column.take(pa.array(np.where(chosen < 0, winners, chosen))))
    # Minted ids are those of a single row.
    cells[:, 0] = omitted[winners, 0]
    return pa.Table.from_arrays([rows.column(ID).take(pa.array(winners)), *columns[1:]], schema=rows.schema), cells
