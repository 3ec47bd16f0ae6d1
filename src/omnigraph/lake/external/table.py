"""External tables at a pin: the table port over the files of a seal.

A fragment is a run of row groups of one file (``seal.Chunk``), so that caches of columns, ids and neighbour lists
belong to files, and a refresh that adds files keeps what was derived from the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.lake.external.columns import cast_columns, file_columns, needed, raw_columns, stored_schema
from omnigraph.lake.external.files import ParquetRows, open_rows
from omnigraph.lake.external.filtering import filter_columns, group_bounds, mask, may_match
from omnigraph.lake.external.seal import Chunk, Seal, SealedColumn, read_seal
from omnigraph.rows.arrow_types import ID
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.filters import Membership, RowFilter
from omnigraph.storage.tables.key_cache import addresses_of
from omnigraph.storage.tables.port import ScanOptions, TableFragment
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.row_layout import Fragment, Rows
from omnigraph.storage.tables.rows_by_position import live_offsets
from omnigraph.storage.tables.store import Store

ADDRESS = "_rowaddr"


def open_external(store: Store, pin: TablePin) -> ExternalTable:
    """The external table at a pin. Reads its seal, and no file of the source."""
    return ExternalTable(store, pin, stored_seal(store, pin))


def stored_seal(store: Store, pin: TablePin) -> Seal:
    """The seal of a pin."""
    path = manifest_file(pin.location, pin.lance_version)
    content = store.objects.read(path)
    if content is None:
        raise CorruptionError(
            f"{path}, the seal of {pin.key}, is missing", hint=verify_hint("lists the affected commits"), path=path
        )
    return read_seal(content, pin)


@dataclass(frozen=True)
class ExternalTable:
    """One version of an external table. Implements ``PinnedTable``."""

    store: Store = field(repr=False)
    pin: TablePin
    seal: Seal = field(repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        return stored_schema(self.seal)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.schema.names)}

    @cached_property
    def _chunks(self) -> tuple[Chunk, ...]:
        return tuple(self.seal.chunks())

    @cached_property
    def _fragments(self) -> tuple[TableFragment, ...]:
        return tuple(map(self._fragment, self._chunks))

    def fragments(self) -> Sequence[TableFragment]:
        return self._fragments

    def _fragment(self, chunk: Chunk) -> TableFragment:
        file = chunk.file
        named = [self.seal.root, file.path, file.size, file.stamp, file.constants, self.seal.reading]
        identity = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]
        dead = chunk.dead()
        deletions = hashlib.sha256(dead.tobytes()).hexdigest()[:16] if len(dead) else ""
        data = f"{self.pin.location}/{identity}-{chunk.groups.start}"
        rows = chunk.rows - len(dead)
        return TableFragment(chunk.number, data, deletions, chunk.rows, rows, partial(_same, dead))

    def scan(
        self, columns: Sequence[str] | None, where: RowFilter | None, options: ScanOptions
    ) -> Iterator[pa.RecordBatch]:
        names = list(self.schema.names if columns is None else columns)
        chosen = None if options.fragments is None else set(options.fragments)
        for chunk in self._chunks:
            if chosen is None or chunk.number in chosen:
                with self._opened(chunk) as rows:
                    yield from self._scanned(rows, chunk, names, where, options)

    def _scanned(
        self, rows: ParquetRows, chunk: Chunk, names: list[str], where: RowFilter | None, options: ScanOptions
    ) -> Iterator[pa.RecordBatch]:
        dead = chunk.dead()
        fields = [self.schema.field(name) for name in names]
        if options.with_address:
            fields.append(pa.field(ADDRESS, pa.uint64()))
        schema = pa.schema(fields)
        for offset, found in self._pieces(rows, chunk, names, where, options.batch_rows):
            count = found.count
            keep = np.ones(count, bool)
            keep[dead[(dead >= offset) & (dead < offset + count)] - offset] = False
            if where is not None:
                keep &= mask(where, found.columns, count).to_numpy(zero_copy_only=False)
            if not keep.any():
                continue
            arrays = [found.columns[name] for name in names]
            if options.with_address:
                arrays.append(pa.array(np.arange(offset, offset + count, dtype=np.uint64) + _base(chunk)))
            whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
            yield whole if keep.all() else whole.filter(pa.array(keep))

    def _pieces(
        self, rows: ParquetRows, chunk: Chunk, names: list[str], where: RowFilter | None, batch_rows: int
    ) -> Iterator[tuple[int, _Piece]]:
        """Stored columns of consecutive rows, with the offset of the first in the fragment.

        With a filter, row groups that cannot match are skipped. The other columns of a group are read only if some of
        its rows match.
        """
        if where is None:
            yield from self._streamed(rows, chunk, needed(self.seal, names), batch_rows)
            return
        first = needed(self.seal, filter_columns(where))
        shown = {column.name for column in first}
        rest = needed(self.seal, [name for name in names if name not in shown])
        in_file = file_columns(rows, [*first, *rest])
        for group, offset, count in chunk.group_starts():
            if may_match(where, self.seal, group_bounds(rows.footer, group, in_file, self.seal)):
                piece = self._group(rows, chunk, group, first, offset)
                if mask(where, piece.columns, count).true_count:
                    others = self._group(rows, chunk, group, rest, offset) if rest else piece
                    yield offset, _Piece(count, {**piece.columns, **others.columns})

    def _streamed(
        self, rows: ParquetRows, chunk: Chunk, columns: Sequence[SealedColumn], batch_rows: int
    ) -> Iterator[tuple[int, _Piece]]:
        in_file = file_columns(rows, columns)
        wanted = list(dict.fromkeys(in_file.values()))
        at = 0
        if not wanted:
            # Constants, or places as ids: the file has nothing to read.
            for at in range(0, chunk.rows, batch_rows):
                yield at, self._piece(chunk, columns, {}, at, min(batch_rows, chunk.rows - at))
            return
        for batch in rows.batches(chunk.groups, wanted, batch_rows):
            read = {name: batch.column(file_name) for name, file_name in in_file.items()}
            yield at, self._piece(chunk, columns, read, at, batch.num_rows)
            at += batch.num_rows

    def _group(
        self, rows: ParquetRows, chunk: Chunk, group: int, columns: Sequence[SealedColumn], offset: int
    ) -> _Piece:
        """Stored columns of one row group."""
        in_file = file_columns(rows, columns)
        table = rows.group([group], list(dict.fromkeys(in_file.values()))) if in_file else None
        read = {} if table is None else {name: flat(table.column(in_file[name])) for name in in_file}
        return self._piece(chunk, columns, read, offset, chunk.file.groups[group])

    def _piece(
        self, chunk: Chunk, columns: Sequence[SealedColumn], read: Mapping[str, pa.Array], offset: int, count: int
    ) -> _Piece:
        raw = raw_columns(self.seal, chunk.file, read, columns, chunk.start + offset, count)
        return _Piece(count, cast_columns(self.seal, raw, columns, count))

    def rows_with(self, column: str, values: Sequence[str] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        where = None if values is None else Membership(column, pa.array(values, pa.string()))
        return self.scan(columns, where, ScanOptions())

    def find_ids(self, ids: Sequence[str], fragments: Collection[int] | None) -> Mapping[str, int]:
        wanted = list(ids)
        found: dict[str, int] = {}
        if fragments is None and self.pin.rows > self.store.tuning.cached_table_rows_max:
            where = Membership(ID, pa.array(wanted, pa.string()))
            for batch in self.scan([ID], where, ScanOptions(with_address=True)):
                found.update(zip(batch.column(ID).to_pylist(), batch.column(ADDRESS).to_pylist(), strict=True))
            return found
        for chunk in self._chunks:
            if fragments is None or chunk.number in fragments:
                found.update(addresses_of(self._offsets(chunk), chunk.number, wanted))
        return found

    def _offsets(self, chunk: Chunk) -> Mapping[str, int]:
        """The ids of a fragment and their offsets, cached like those of tables of the graph."""
        part = self._fragments[chunk.number]
        key = (part.data, part.deletions)
        if self.store.keys.known(key) is None:
            self.store.keys.put(key, self._column(chunk, ID).to_pylist(), part.dead().tolist())
        known = self.store.keys.known(key)
        assert known is not None
        return known

    def take(self, positions: Rows, names: Sequence[str]) -> pa.Table:
        starts = np.cumsum([0, *(chunk.rows for chunk in self._chunks)])
        dead = [part.dead() + start for part, start in zip(self._fragments, starts, strict=False)]
        numbers, places = np.unique(positions, return_inverse=True)
        numbers = live_offsets(np.concatenate(dead), numbers) if dead else numbers
        limits = np.searchsorted(numbers, starts)
        parts = []
        for chunk, low, high in zip(self._chunks, limits[:-1], limits[1:], strict=True):
            if high > low:
                parts += self._taken(chunk, numbers[low:high] - starts[chunk.number], names)
        schema = pa.schema([self.schema.field(name) for name in names])
        return pa.Table.from_batches(parts, schema=schema).take(pa.array(places))

    def _taken(self, chunk: Chunk, offsets: Rows, names: Sequence[str]) -> list[pa.RecordBatch]:
        """Rows at ascending offsets of a fragment. Row groups without one are not read."""
        columns, found = needed(self.seal, names), []
        schema = pa.schema([self.schema.field(name) for name in names])
        with self._opened(chunk) as rows:
            for group, start, count in chunk.group_starts():
                low, high = np.searchsorted(offsets, (start, start + count))
                if high > low:
                    piece = self._group(rows, chunk, group, columns, start)
                    whole = pa.RecordBatch.from_arrays([piece.columns[name] for name in names], schema=schema)
                    found.append(whole.take(pa.array(offsets[low:high] - start)))
        return found

    def column(self, parts: Sequence[Fragment], name: str) -> pa.Array:
        type_ = self.schema.field(name).type
        pieces = (self._column(self._chunks[part.fragment], name) for part in parts)
        return pa.concat_arrays([pa.array([], type_), *pieces])

    def _column(self, chunk: Chunk, name: str) -> pa.Array:
        """A column of a fragment, deleted rows included."""
        columns, found = needed(self.seal, [name]), [pa.array([], self.schema.field(name).type)]
        with self._opened(chunk) as rows:
            for group, offset, _ in chunk.group_starts():
                found.append(self._group(rows, chunk, group, columns, offset).columns[name])
        return pa.concat_arrays(found)

    def _opened(self, chunk: Chunk) -> AbstractContextManager[ParquetRows]:
        return open_rows(self.seal.source_file(chunk.file, self.store.options), self.pin.key)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Stored columns of some consecutive rows."""

    count: int
    columns: Mapping[str, pa.Array]


def _same(offsets: Rows) -> Rows:
    return offsets


def _base(chunk: Chunk) -> np.uint64:
    """The address of the first row of a fragment."""
    return np.uint64(chunk.number << OFFSET_BITS)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """A column as one contiguous array."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
