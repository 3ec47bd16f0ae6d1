"""What one task of a load does: rows of its slice become fragments, and what the driver has to know of them comes back.

The rows are read, typed, checked and written by the very functions of the embedded load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow.compute as pc

from omnigraph.core.ports import PlacedUlids, SystemClock, UlidSource
from omnigraph.core.tables import TablePin
from omnigraph.errors import OmnigraphError
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.read_json import read_lines
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.progress import RowCounter
from omnigraph.spark.load.rejected_rows import EveryViolation, Reasons, without_lines, without_rows
from omnigraph.spark.load.splits import FileSplit, SplitLines
from omnigraph.storage.stage.discard import discard_rows
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.fragments import FragmentWriter
from omnigraph.write.load.keys import Piece
from omnigraph.write.load.rows import checked
from omnigraph.write.vectors.load_vectors import RowEmbedding


@dataclass(slots=True)
class SliceTable:
    """The rows of one type in one slice. ``first_line`` if they came from lines without gaps, None if not."""

    rows: int = 0
    first_line: int | None = None
    written: tuple[WrittenRows, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive lines of a source, or rows of a table that Spark read. ``start`` orders the spans of a source.

    ``entry`` tells apart uses of one source: a file that is named twice is read twice.
    """

    entry: int
    source: str
    start: int
    lines: int


@dataclass(frozen=True, slots=True)
class InputSlice:
    """What came of a slice of the input: all its lines were read, ``violations`` say what is wrong with them.

    Lines are counted from 1 within the slice; ``spans`` say which lines of which sources they are.
    """

    spans: tuple[Span, ...]
    violations: Violations
    tables: Mapping[str, SliceTable]
    rejected: Reasons = field(default_factory=dict)
    """Lines that were set aside, if that is what the caller wants, and why."""
    records: Mapping[int, object] = field(default_factory=dict)
    """What those lines held, where nobody can read them again."""

    @property
    def rows(self) -> int:
        """How many were written."""
        return sum(table.rows for table in self.tables.values())


@dataclass
class LineNotes:
    """Where the rows of each type came from: as runs of lines if that is short to say."""

    tables: dict[str, SliceTable] = field(default_factory=dict)

    def source(self, name: str) -> int:
        """There is only one."""
        return 0

    def add(self, entity: Entity, pieces: Sequence[Piece]) -> None:
        for _, rows in pieces:
            noted = self.tables.get(entity.table_key)
            if noted is None:
                noted = self.tables[entity.table_key] = SliceTable(0, rows.lines[0].as_py())
            if noted.first_line is not None and not _goes_on(rows, noted.first_line + noted.rows):
                noted.first_line = None
            noted.rows += rows.batch.num_rows


def _goes_on(rows: TypedRows, line: int) -> bool:
    """Whether rows come from the lines from this one on, one by one."""
    first, last = rows.lines[0].as_py(), rows.lines[-1].as_py()
    if first != line or last != line + len(rows.lines) - 1:
        return False
    steps = pc.pairwise_diff(rows.lines).drop_null()
    return bool(pc.all(pc.equal(steps, 1), min_count=0).as_py())


@dataclass(frozen=True, slots=True)
class SliceWriter:
    """Writes slices into a graph. Travels to the executors."""

    store: Store
    pins: Mapping[str, TablePin]
    catalog: Catalog
    """The types by which rows are read."""
    embedding: RowEmbedding | None = None
    rejects: bool = False
    """Whether rows that something is wrong with are set aside, and the others written."""
    counter: RowCounter | None = None
    """Counts the rows that were written."""
    minted_ms: int = field(default_factory=lambda: SystemClock().now_us() // 1000)
    """The moment in the ids that tasks mint."""

    def ids(self, place: int) -> PlacedUlids:
        """Ids for the rows of a slice; ``place`` is the one that it has in the input."""
        return PlacedUlids(self.minted_ms, place)

    def write_split(self, split: FileSplit) -> InputSlice:
        """Rows of a split of a file of JSON lines."""
        violations = EveryViolation() if self.rejects else Violations()
        lines = SplitLines(split)
        rows = read_lines(
            lines,
            catalog=self.catalog,
            source=split.path,
            mint_ids=self.ids(split.number).new_ids,
            violations=violations,
            is_start=split.start == 0,
        )
        tables = self.write_rows(split.path, rows, violations)
        rejected = violations.reasons if isinstance(violations, EveryViolation) else {}
        return InputSlice((Span(split.entry, split.path, split.start, lines.count),), violations, tables, rejected)

    def write_rows(self, source: str, rows: Iterable[TypedRows], violations: Violations) -> dict[str, SliceTable]:
        """Write rows until a violation is found; the rest is only read, to find the others."""
        notes = LineNotes()
        writer = FragmentWriter(self.store, self.pins, notes)
        try:
            try:
                sourced = ((source, typed) for typed in rows)
                for name, typed in checked(sourced, violations, embedding=self.embedding):
                    good = without_rows(typed, name, violations)
                    if not violations.total and good.batch.num_rows:
                        writer.add(name, good)
                if not violations.total:
                    writer.finish()
                    writer.wait()
            finally:
                writer.close()
        except BaseException:
            _discard(writer)
            raise
        if violations.total:
            _discard(writer)
            return {}
        for key, written in writer.written.items():
            notes.tables[key].written = tuple(written)
        if self.counter is not None:
            self.counter.add(sum(table.rows for table in notes.tables.values()))
        return notes.tables


def discard_slice(store: Store, input_slice: InputSlice) -> None:
    """Delete the fragments of a slice that no version refers to."""
    try:
        for table in input_slice.tables.values():
            for rows in table.written:
                discard_rows(store, rows)
    except OmnigraphError:
        # What could not be deleted is garbage for cleanup.
        return


def _discard(writer: FragmentWriter) -> None:
    try:
        writer.discard()
    except OmnigraphError:
        # What could not be deleted is garbage for cleanup; the reason of the failure matters more.
        return


def lines_of_rows(
    catalog: Catalog, split: FileSplit, wanted: Mapping[str, Sequence[int]], rejected: Reasons
) -> dict[str, dict[int, int]]:
    """Which lines of a split some rows came from, by type and number of the row: it is read once more for them.

    Lines that were set aside when it was read first do not count.
    """
    found: dict[str, dict[int, int]] = {key: {} for key in wanted}
    passed = dict.fromkeys(wanted, 0)
    rows = read_lines(
        SplitLines(split),
        catalog=catalog,
        source=split.path,
        mint_ids=UlidSource().new_ids,
        violations=Violations(),
        is_start=split.start == 0,
    )
    for typed in rows:
        key = typed.table_key
        if key not in wanted:
            continue
        lines = without_lines(typed, split.path, rejected).lines
        end = passed[key] + len(lines)
        for row in wanted[key]:
            if passed[key] <= row < end:
                found[key][row] = lines[row - passed[key]].as_py()
        passed[key] = end
    return found
