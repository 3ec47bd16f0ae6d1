"""Slices of frames: a task receives rows that Spark read as Arrow batches and writes them as a slice of the load.

A row is identified by its file and its number in it, or by its number in the frame. Spark provides the start of the
file block of each row. The driver sums up the rows of earlier blocks, which other tasks read.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.ingest.mapped import stored_batch
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.read.arrow import from_batches
from omnigraph.rows.rejected.arrived import ArrivedRows
from omnigraph.rows.rejected.reasons import EveryViolation
from omnigraph.rows.typed_rows import numbered
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import NodeType
from omnigraph.spark.load.slices import InputSlice, LineSpan, SliceWriter
from omnigraph.spark.load.task_files import shown_path

_SLICES = 2**16
"""Maximum slices per mapping entry with generated ids in input order. Beyond it ids are unique, but unordered."""


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """The columns of a selected frame. With ``has_files``, the first two are the file and the block of a row."""

    entry: int
    source: str
    entity: Entity
    ends: Mapping[str, NodeType | None]
    """The node type at each end; None where rows have several."""
    names: tuple[str, ...]
    has_files: bool
    references: Mapping[str, tuple[NodeType, ...]] = field(default_factory=dict)
    """The node types at ends where rows have several."""


def write_frame_slice(
    writer: SliceWriter, columns: FrameColumns, number: int, batches: Iterator[pa.RecordBatch]
) -> InputSlice:
    """Write the rows of one task."""
    spans = _Spans(columns, number)
    violations = EveryViolation() if writer.rejects else Violations()
    first = next(batches, None)
    if first is None:
        return InputSlice((), Violations(), {})
    arriving = itertools.chain([first], batches)
    typed = numbered(_named(columns, batch) for batch in arriving if spans.note(batch))
    kept = ArrivedRows(columns.entity, violations) if isinstance(violations, EveryViolation) else None
    schema = _named(columns, first).schema
    rows = from_batches(
        columns.entity,
        schema,
        typed if kept is None else kept.noting(typed),
        source=columns.source,
        mint_ids=writer.ids(columns.entry * _SLICES + number).new_ids,
        violations=violations,
        from_texts=True,
        omissions=writer.omissions,
        references=columns.references,
    )
    tables = writer.write_rows(columns.source, rows if kept is None else kept.settling(rows), violations)
    if kept is None:
        return InputSlice(tuple(spans.found), violations, tables)
    return InputSlice(tuple(spans.found), violations, tables, kept.violations.reasons, kept.records)


class Numbering:
    """Converts between rows of a slice, counted from 0 as written, and lines, counted from 1 with rejected ones.

    Example: lines 1 to 5 arrive, and 2 and 3 are rejected. Then ``_aside`` is [2, 3] and ``_shifts`` is [2, 2].

    ====  =========  ===
    line  rejected   row
    ====  =========  ===
    1                0
    2     yes
    3     yes
    4                1
    5                2
    ====  =========  ===

    Row 1 without rejections would be line 2. Both shifts are at most 2, so two rejected lines precede it: line 4.
    """

    def __init__(self, input_slice: InputSlice) -> None:
        self._aside = sorted(place.line for place in input_slice.rejected)
        self._shifts = [line - before for before, line in enumerate(self._aside)]

    def line(self, row: int) -> int:
        return row + 1 + bisect_right(self._shifts, row + 1)

    def row(self, line: int) -> int:
        return line - 1 - bisect_left(self._aside, line)


def _named(columns: FrameColumns, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rename the columns to those of the table, and derive the ids of both ends from their key columns."""
    given = batch.columns[2 if columns.has_files else 0 :]
    return stored_batch(dict(zip(columns.names, given, strict=True)), columns.ends, batch.num_rows)


class _Spans:
    """Collects the spans of files that a task has received."""

    def __init__(self, columns: FrameColumns, number: int) -> None:
        self.found: list[LineSpan] = []
        self._columns = columns
        self._number = number

    def note(self, batch: pa.RecordBatch) -> bool:
        """Record the spans of a batch; always True."""
        for source, start, rows in self._runs(batch):
            last = self.found[-1] if self.found else None
            if last is not None and (last.source, last.start) == (source, start):
                self.found[-1] = LineSpan(last.entry, source, start, last.lines + rows)
            else:
                self.found.append(LineSpan(self._columns.entry, source, start, rows))
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
