"""Completion and comparison of a large load with the committed rows, in bounded memory.

The rows of the input are in fragments already. Rows that exist in the graph are read in the order of the committed
ones, a chunk at a time:

======================  =======================  =================================
row of the input        against its image        consequence
======================  =======================  =================================
names every column      differs                  stays; the image is removed
omits a column          differs when completed   dropped; the completed row is written
any                     equal                    dropped; the image stays
======================  =======================  =================================

The results are tables of the key database. They hold for one version of the table, so after a lost race only tables
that others wrote are compared again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.omissions import Cells
from omnigraph.rows.read.json_records import explicit_id_message
from omnigraph.rows.typed_rows import TypedRows, counting
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.rows_by_address import rows_at
from omnigraph.storage.tables.scan import take_rows
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits
from omnigraph.write.images import Images, complete, count_cleared, image_schema, is_changed
from omnigraph.write.load.fragments import FragmentWriter
from omnigraph.write.load.keys import InputKeys, KeyTable, Piece
from omnigraph.write.load.mode import LoadMode


class _Unnoted:
    """Completed rows need no notes: their keys are known."""

    def source(self, name: str) -> int:
        return 0

    def add(self, entity: Entity, pieces: Sequence[Piece]) -> None:
        return


@dataclass
class TableImages:
    """The comparison of one table with one version of it."""

    pin: TablePin
    rows: int
    """Rows of the input that were compared: rejected ones may be set aside later."""
    unchanged: int = 0
    cleared: int = 0
    completed: list[staging.WrittenRows] = field(default_factory=list)


@dataclass
class BulkImages:
    """Comparison of the rows of one type. ``given`` is a version that holds every row of the input and nothing else."""

    store: Store
    keys: InputKeys
    table: KeyTable
    given: TablePin
    pin: TablePin
    mode: LoadMode
    violations: Violations

    def run(self) -> TableImages:
        """Compare all rows, and write those that had to be completed."""
        found = TableImages(self.pin, self.table.rows)
        table = self.table
        self.keys.run(f'CREATE OR REPLACE TABLE {table.dropped_name} ("row" BIGINT)')
        self.keys.run(f"CREATE OR REPLACE TABLE {table.unchanged_name} (address UBIGINT)")
        writer = FragmentWriter(self.store, {self.pin.key: self.pin}, _Unnoted())
        try:
            for chunk in self._chunks():
                self._compare(chunk, found, writer)
            writer.finish()
            writer.wait()
        except BaseException:
            writer.close()
            writer.discard()
            raise
        writer.close()
        found.completed = writer.written.get(self.pin.key, [])
        return found

    def _chunks(self) -> Iterator[pa.Table]:
        """Rows of the input that exist in the graph or have several parts, by committed address."""
        parts = f' OR t."row" IN (SELECT last FROM {self.table.parts_name})' if self.table.has_parts else ""
        query = (
            f'SELECT t."row", f.address, t.omitted FROM {self.table.base} t LEFT JOIN {self.table.found_name} f '
            f'ON t.k0 = f.id WHERE f.id IS NOT NULL{parts} ORDER BY f.address NULLS LAST, t."row"'
        )
        rows = compared_rows(self.store, self.pin)
        for batch in self.keys.stream_apart(query):
            for start in range(0, batch.num_rows, rows):
                yield pa.Table.from_batches([batch.slice(start, rows)])

    def _compare(self, chunk: pa.Table, found: TableImages, writer: FragmentWriter) -> None:
        rows = chunk.column("row").to_numpy()
        omitted = self.table.patterns.cells(chunk.column("omitted").to_numpy())
        is_held = pc.is_valid(chunk.column("address")).to_numpy()
        addresses = chunk.column("address").drop_null().to_numpy().astype(np.uint64)
        schema = image_schema(self.table.entity)
        given, is_joined = self._given(rows, schema)
        before = rows_at(self.store, self.pin, addresses, schema) if len(addresses) else schema.empty_table()
        images = Images(np.flatnonzero(is_held), before)
        if self.mode is LoadMode.MERGE:
            found.cleared += count_cleared(given, omitted, images)
        whole = complete(given, omitted, images) if self.mode.is_partial else given
        same = images.positions[~is_changed(whole, images)]
        found.unchanged += len(same)
        is_same = np.zeros(len(rows), np.bool_)
        is_same[same] = True
        is_written = is_joined & ~is_same
        if self.mode.is_partial:
            is_written |= omitted[:, 1:].any(axis=1) & is_held & ~is_same
            self._check_ids(chunk, whole, omitted, is_held)
        self._note(rows[is_same | is_written], addresses[is_same[is_held]])
        if is_written.any() and not self.violations.total:
            chosen = whole.filter(pa.array(is_written)).combine_chunks()
            for batch in chosen.to_batches():
                writer.add("", TypedRows(self.table.entity, batch, counting(1, batch.num_rows)))

    def _given(self, rows: npt.NDArray[np.int64], schema: pa.Schema) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
        """The rows of the input, joined with the earlier rows of their ids; and a mask of those that were joined."""
        given = self._taken(rows, schema)
        is_joined = np.zeros(len(rows), np.bool_)
        if not self.table.has_parts:
            return given, is_joined
        wanted = pa.table({"last": rows, "place": np.arange(len(rows))})
        parts = self.keys.run(
            f'SELECT w.place, p."column", p."row" FROM {self.table.parts_name} p JOIN wanted w USING (last)',
            wanted=wanted,
        )
        by_column: dict[int, list[tuple[int, int]]] = {}
        for place, column, row in parts:
            by_column.setdefault(column, []).append((place, row))
            is_joined[place] = True
        for column, pairs in by_column.items():
            item = schema.field(column)
            source = self._taken(np.array([row for _, row in pairs]), pa.schema([item])).column(0)
            places = np.arange(len(rows))
            places[[place for place, _ in pairs]] = len(rows) + np.arange(len(pairs))
            both = pa.chunked_array([*given.column(column).chunks, *source.chunks], item.type)
            given = given.set_column(column, item, both.take(pa.array(places)))
        return given, is_joined

    def _taken(self, rows: npt.NDArray[np.int64], schema: pa.Schema) -> pa.Table:
        """Rows of the input: nothing is deleted from that version, so a row's number is its position."""
        stored = self.store.open(self.given.location, self.given.lance_version)
        if any(isinstance(stored.schema.field(name).type, pa.ExtensionType) for name in schema.names):
            ends = np.cumsum([item.physical_rows for item in stored.get_fragments()])
            numbers = np.array([item.fragment_id for item in stored.get_fragments()], np.uint64)
            at = np.searchsorted(ends, rows, side="right")
            offsets = rows - np.concatenate([[0], ends])[at]
            return rows_at(self.store, self.given, (numbers[at] << np.uint64(32)) | offsets.astype(np.uint64), schema)
        arrays = take_rows(self.store, self.given, rows, schema.names)
        return pa.Table.from_arrays([arrays[name] for name in schema.names], schema.names).cast(schema)

    def _check_ids(self, chunk: pa.Table, whole: pa.Table, omitted: Cells, is_held: npt.NDArray[np.bool_]) -> None:
        """Report explicit ids of entities whose given members of the key differ from the committed ones."""
        entity = self.table.entity
        members = [self.table.patterns.columns.index(name) for name in entity.key]
        partly = np.flatnonzero(omitted[:, members].any(axis=1) & is_held) if members else ()
        if not len(partly):
            return
        rows = whole.take(pa.array(partly)).combine_chunks()
        given, derived = rows.column(ID).combine_chunks(), derived_ids(entity, rows)
        for index in pc.indices_nonzero(pc.fill_null(pc.not_equal(derived, given), True)).to_pylist():
            number = chunk.column("row")[int(partly[index])].as_py()
            [(source, line)] = self.keys.run(f'SELECT source, line FROM {self.table.base} WHERE "row" = {number}')
            message = explicit_id_message(entity, given[index].as_py(), derived[index].as_py() or "null")
            place = self.keys.place(source, line)
            id_ = given[index].as_py()
            self.violations.add(Violation(ViolationCode.KEY, message, entity.table_key, id_, ID, place))

    def _note(self, dropped: npt.NDArray[np.int64], unchanged: npt.NDArray[np.uint64]) -> None:
        if len(dropped):
            given = pa.table({"row": pa.array(dropped, pa.int64())})
            self.keys.run(f"INSERT INTO {self.table.dropped_name} SELECT * FROM given", given=given)
        if len(unchanged):
            given = pa.table({"address": pa.array(unchanged, pa.uint64())})
            self.keys.run(f"INSERT INTO {self.table.unchanged_name} SELECT * FROM given", given=given)


def compared_rows(store: Store, pin: TablePin) -> int:
    """Rows of a table to compare at a time."""
    dataset = store.open(pin.location, pin.lance_version)
    if any(isinstance(item.type, pa.ExtensionType) for item in dataset.schema):
        return limits.COMPARED_BLOB_ROWS
    sizes = (file.file_size_bytes or 0 for item in dataset.get_fragments() for file in item.metadata.files)
    row_bytes = max(1, sum(sizes) // max(1, pin.rows))
    return max(1, min(limits.COMPARED_ROWS, limits.COMPARED_BYTES // row_bytes))


def stage_given(
    store: Store, pin: TablePin, written: Sequence[staging.WrittenRows]
) -> tuple[TablePin, staging.StagedVersion]:
    """A version that holds the rows of the input and nothing else; no manifest ever refers to it."""
    base = store.open(pin.location, pin.lance_version)
    version = staging.stage_overwrite(store, base, pin.location, written)
    return TablePin(pin.key, version.location, version.version, 1, version.rows), version
