"""The work of one load task: write the rows of a slice as fragments and describe them for the driver.

Rows are read, typed, checked and written by the functions of the embedded load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow.compute as pc

from omnigraph.core.ports import PlacedUlids, SystemClock, UlidSource
from omnigraph.core.tables import TablePin
from omnigraph.errors import OmnigraphError
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.omissions import Cells, Omissions, joined_cells
from omnigraph.rows.read.json import read_lines
from omnigraph.rows.rejected.reasons import EveryViolation, Reasons, without_lines, without_rows
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import text_column
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.progress import WrittenCounts
from omnigraph.spark.load.id_ranges import IdRange, joined_ranges
from omnigraph.spark.load.omitted_runs import OmittedRuns
from omnigraph.spark.load.splits import GroupLines, SplitGroup
from omnigraph.storage.stage.discard import discard_rows
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.fragments import FragmentWriter
from omnigraph.write.load.keys import Piece
from omnigraph.write.load.rows import checked
from omnigraph.write.vectors.load_vectors import RowEmbedding


@dataclass(slots=True)
class SliceTable:
    """The rows of one type in one slice. ``first_line`` is None if their lines are not consecutive."""

    rows: int = 0
    first_line: int | None = None
    written: tuple[WrittenRows, ...] = ()
    omitted: OmittedRuns | None = None
    """Cells that the rows do not name; None if there are none."""
    ids: IdRange | None = None
    """The range of the ids; None if they do not ascend."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Consecutive lines of a source, or consecutive rows of a frame. ``start`` orders the spans of a source.

    ``entry`` distinguishes uses of one source: a file that is listed twice is read twice.
    """

    entry: int
    source: str
    start: int
    lines: int


@dataclass(frozen=True, slots=True)
class InputSlice:
    """The result of one slice of the input: the fragments per type, or the violations in its lines.

    Lines are counted from 1 within the slice; ``spans`` map them to lines of sources.
    """

    spans: tuple[LineSpan, ...]
    violations: Violations
    tables: Mapping[str, SliceTable]
    rejected: Reasons = field(default_factory=dict)
    """Rejected lines with their violations, if the load rejects rows."""
    records: Mapping[int, object] = field(default_factory=dict)
    """Records of rejected lines, by line, if the source cannot be read again."""

    @property
    def rows(self) -> int:
        """Number of written rows."""
        return sum(table.rows for table in self.tables.values())


@dataclass
class LineNotes:
    """Records the first line of each type as long as its lines are consecutive."""

    tables: dict[str, SliceTable] = field(default_factory=dict)
    omitted: dict[str, list[tuple[int, Cells | None]]] = field(default_factory=dict)
    """By type: omitted cells of the rows, piece by piece."""
    ids: dict[str, list[IdRange | None]] = field(default_factory=dict)
    """By type: the range of ids, piece by piece."""

    def source(self, name: str) -> int:
        """The number of a source: a slice has only one."""
        return 0

    def add(self, entity: Entity, pieces: Sequence[Piece]) -> None:
        for _, rows in pieces:
            noted = self.tables.get(entity.table_key)
            if noted is None:
                noted = self.tables[entity.table_key] = SliceTable(0, rows.lines[0].as_py())
            if noted.first_line is not None and not _continues(rows, noted.first_line + noted.rows):
                noted.first_line = None
            noted.rows += rows.batch.num_rows
            self.omitted.setdefault(entity.table_key, []).append((rows.batch.num_rows, rows.omitted))
            self.ids.setdefault(entity.table_key, []).append(IdRange.of(text_column(entity, ID, rows.batch)))

    def finish(self, key: str, written: Sequence[WrittenRows]) -> None:
        """Complete the description of one type."""
        known = [cells.shape[1] for _, cells in self.omitted[key] if cells is not None]
        cells = joined_cells(self.omitted[key], known[0]) if known else None
        self.tables[key].written = tuple(written)
        self.tables[key].omitted = None if cells is None else OmittedRuns.of(cells)
        self.tables[key].ids = joined_ranges(self.ids[key])


def _continues(rows: TypedRows, line: int) -> bool:
    """True if the rows come from consecutive lines, starting at ``line``."""
    first, last = rows.lines[0].as_py(), rows.lines[-1].as_py()
    if first != line or last != line + len(rows.lines) - 1:
        return False
    steps = pc.pairwise_diff(rows.lines).drop_null()
    return bool(pc.all(pc.equal(steps, 1), min_count=0).as_py())


@dataclass(frozen=True, slots=True)
class SliceWriter:
    """Writes slices into a graph. Pickled to the executors."""

    store: Store
    pins: Mapping[str, TablePin]
    catalog: Catalog
    """The schema that rows are read with."""
    embedding: RowEmbedding | None = None
    rejects: bool = False
    """True to reject invalid rows and write the others."""
    counts: WrittenCounts | None = None
    """Accumulators of written rows, bytes and files."""
    omissions: Omissions = Omissions.IGNORED
    """Treatment of columns that rows do not name."""
    minted_ms: int = field(default_factory=lambda: SystemClock().now_us() // 1000)
    """Timestamp of generated ids: the same in all tasks, so that ids sort in input order."""

    def ids(self, place: int) -> PlacedUlids:
        """Id generator for the rows of a slice; ``place`` is the position of the slice in the input."""
        return PlacedUlids(self.minted_ms, place)

    def write_lines(self, group: SplitGroup) -> InputSlice:
        """Write the rows of a group of splits of JSON lines."""
        violations = EveryViolation() if self.rejects else Violations()
        lines = GroupLines(group)
        rows = read_lines(
            lines,
            catalog=self.catalog,
            source=group.path,
            mint_ids=self.ids(group.number).new_ids,
            violations=violations,
            is_start=group.is_start,
            omissions=self.omissions,
        )
        tables = self.write_rows(group.path, rows, violations)
        rejected = violations.reasons if isinstance(violations, EveryViolation) else {}
        spans = (
            LineSpan(split.entry, split.path, split.start, count)
            for split, count in zip(group.splits, lines.counts, strict=True)
        )
        return InputSlice(tuple(spans), violations, tables, rejected)

    def write_rows(self, source: str, rows: Iterable[TypedRows], violations: Violations) -> dict[str, SliceTable]:
        """Write rows until the first violation; after it, only read, to find further violations."""
        notes = LineNotes()
        writer = FragmentWriter(self.store, self.pins, notes)
        try:
            try:
                sourced = ((source, typed) for typed in rows)
                is_partial = self.omissions is Omissions.ALLOWED
                for name, typed in checked(
                    sourced, violations, embedding=self.embedding, is_partial=is_partial, needs_types=True
                ):
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
            notes.finish(key, written)
        if self.counts is not None:
            files = [record for written in writer.written.values() for rows in written for record in rows.files]
            rows_written = sum(table.rows for table in notes.tables.values())
            self.counts.add(rows_written, sum(record.size for record in files), len(files))
        return notes.tables


def discard_slice(store: Store, input_slice: InputSlice) -> None:
    """Delete the fragments of a slice that no version references."""
    try:
        for table in input_slice.tables.values():
            for rows in table.written:
                discard_rows(store, rows)
    except OmnigraphError:
        # Remaining files are garbage for cleanup.
        return


def _discard(writer: FragmentWriter) -> None:
    try:
        writer.discard()
    except OmnigraphError:
        # Remaining files are garbage for cleanup; the caller's original error takes precedence.
        return


def lines_of_rows(
    catalog: Catalog, group: SplitGroup, wanted: Mapping[str, Sequence[int]], rejected: Reasons
) -> dict[str, dict[int, int]]:
    """Find the lines of rows, by type and row number, by reading a group again.

    Lines that the first read rejected are skipped, because they have no row.
    """
    found: dict[str, dict[int, int]] = {key: {} for key in wanted}
    passed = dict.fromkeys(wanted, 0)
    rows = read_lines(
        GroupLines(group),
        catalog=catalog,
        source=group.path,
        mint_ids=UlidSource().new_ids,
        violations=Violations(),
        is_start=group.is_start,
    )
    for typed in rows:
        key = typed.table_key
        if key not in wanted:
            continue
        lines = without_lines(typed, group.path, rejected).lines
        end = passed[key] + len(lines)
        for row in wanted[key]:
            if passed[key] <= row < end:
                found[key][row] = lines[row - passed[key]].as_py()
        passed[key] = end
    return found
