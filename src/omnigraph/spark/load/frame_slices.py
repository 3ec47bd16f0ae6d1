"""What a task does with the rows of a table that Spark read: they arrive as Arrow data and become a part of the load.

A row is known by its file and its number in it, or by its number in the frame. Spark tells where a block of a file
begins; the rows of blocks that other tasks read are added up on the driver.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.read_arrow import as_texts, from_arrow, reference_ids
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Place, Violations
from omnigraph.schema.catalog import NodeType
from omnigraph.spark.load.records import record_of
from omnigraph.spark.load.rejected_rows import EveryViolation
from omnigraph.spark.load.slices import InputSlice, SliceWriter, Span

_SLICES = 2**16
"""Parts of one entry of a mapping whose minted ids are in order. Those of more are still ids."""


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """What the columns of a selected frame are. With ``has_files`` the first two say where a row came from."""

    entry: int
    source: str
    entity: Entity
    ends: Mapping[str, NodeType]
    names: tuple[str, ...]
    has_files: bool


def write_frame_slice(
    writer: SliceWriter, columns: FrameColumns, number: int, batches: Iterator[pa.RecordBatch]
) -> InputSlice:
    """Write what comes to one task."""
    spans = _Spans(columns, number)
    violations = EveryViolation() if writer.rejects else Violations()
    first = next(batches, None)
    if first is None:
        return InputSlice((), Violations(), {})
    arriving = itertools.chain([first], batches)
    typed = (_named(columns, batch) for batch in arriving if spans.note(batch))
    kept = _Kept(columns.entity, violations) if isinstance(violations, EveryViolation) else None
    schema = _named(columns, first).schema
    rows = from_arrow(
        columns.entity,
        pa.RecordBatchReader.from_batches(schema, typed if kept is None else kept.noting(typed)),
        source=columns.source,
        mint_ids=writer.ids(columns.entry * _SLICES + number).new_ids,
        violations=violations,
        from_texts=True,
    )
    tables = writer.write_rows(columns.source, rows if kept is None else kept.settling(rows), violations)
    if kept is None:
        return InputSlice(tuple(spans.found), violations, tables)
    return InputSlice(tuple(spans.found), violations, tables, kept.violations.reasons, kept.records)


class Numbering:
    """Rows of a part, counted from 0 as they were written, and lines, counted from 1: some lines were set aside."""

    def __init__(self, input_slice: InputSlice) -> None:
        self._aside = sorted(place.line for place in input_slice.rejected)
        self._shifts = [line - before for before, line in enumerate(self._aside)]

    def line(self, row: int) -> int:
        return row + 1 + bisect_right(self._shifts, row + 1)

    def row(self, line: int) -> int:
        return line - 1 - bisect_left(self._aside, line)


def _named(columns: FrameColumns, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns under the names of the table, with the ids of both ends made from their columns."""
    given = batch.columns[2 if columns.has_files else 0 :]
    arrays = {name: array for name, array in zip(columns.names, given, strict=True) if "." not in name}
    if ID in arrays:
        arrays[ID] = as_texts(arrays[ID])
    for end, node in columns.ends.items():
        parts = [array for name, array in zip(columns.names, given, strict=True) if name.startswith(f"{end}.")]
        arrays[end] = reference_ids(node, parts)
    return pa.RecordBatch.from_pydict(arrays)


class _Kept:
    """The rows as they arrived, until it is known which of them are set aside. Those stay, as records by line.

    Nobody can ask for them again: what a frame gives the second time may be something else.
    """

    def __init__(self, entity: Entity, violations: EveryViolation) -> None:
        self.violations = violations
        self.records: dict[int, object] = {}
        self._entity = entity
        self._held: list[tuple[int, pa.RecordBatch]] = []
        self._lines = 0
        self._seen = 0
        self._waiting: list[Place] = []

    def noting(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._held.append((self._lines + 1, batch))
            self._lines += batch.num_rows
            yield batch

    def settling(self, rows: Iterable[TypedRows]) -> Iterator[TypedRows]:
        """The same rows. When the next ones are asked for, everything wrong with the last ones is known."""
        for typed in rows:
            yield typed
            if len(typed.lines):
                self._settle(typed.lines[-1].as_py())
        self._settle(self._lines)

    def _settle(self, line: int) -> None:
        reasons = self.violations.reasons
        found = [*self._waiting, *itertools.islice(reasons, self._seen, None)]
        self._seen = len(reasons)
        self._waiting = [place for place in found if place.line > line]
        for place in sorted({place.line for place in found if place.line <= line}):
            first, batch = next(held for held in reversed(self._held) if held[0] <= place)
            self.records[place] = record_of(self._entity, batch.slice(place - first, 1))
        self._held = [(first, batch) for first, batch in self._held if first + batch.num_rows - 1 > line]


class _Spans:
    """Which rows of which files came by."""

    def __init__(self, columns: FrameColumns, number: int) -> None:
        self.found: list[Span] = []
        self._columns = columns
        self._number = number

    def note(self, batch: pa.RecordBatch) -> bool:
        """Take note of a batch; always true."""
        for source, start, rows in self._runs(batch):
            last = self.found[-1] if self.found else None
            if last is not None and (last.source, last.start) == (source, start):
                self.found[-1] = Span(last.entry, source, start, last.lines + rows)
            else:
                self.found.append(Span(self._columns.entry, source, start, rows))
        return True

    def _runs(self, batch: pa.RecordBatch) -> Iterator[tuple[str, int, int]]:
        if not self._columns.has_files:
            yield f"<{self._columns.source}>", self._number, batch.num_rows
            return
        files, blocks = batch.column(0), batch.column(1)
        ends = sorted({*_run_ends(files), *_run_ends(blocks)})
        for start, end in zip([0, *ends], ends, strict=False):
            yield shown_path(files[start].as_py()), blocks[start].as_py(), end - start


def _run_ends(array: pa.Array) -> Sequence[int]:
    encoded = pc.run_end_encode(array, run_end_type=pa.int64())
    ends: list[int] = encoded.run_ends.to_pylist()
    return ends


def shown_path(url: str) -> str:
    """A file as its user knows it."""
    parsed = urlparse(url)
    return unquote(parsed.path) if parsed.scheme == "file" else url
