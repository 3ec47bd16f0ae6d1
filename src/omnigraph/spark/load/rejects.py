"""Rejected rows of a load: their violations, and the file that they are written to.

A row is rejected for an invalid value, or for a conflict with other rows: a duplicate id, a duplicate unique value, a
dangling end of an edge. A violation that no single input row causes still fails the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.engine.results import LoadResult
from omnigraph.rows.rejected.reasons import Reasons
from omnigraph.rows.violations import Violation
from omnigraph.spark.load.input import LoadInput, Sources
from omnigraph.write.load.reject.file import RejectFile, check_count, shown_rejections

Records = Callable[[LoadInput, Mapping[int, Sequence[int]]], Mapping[int, Mapping[int, object]]]
"""Finds the records of lines, by slice and line; the text of a line that is not a record."""


@dataclass
class Rejects:
    """The rejected rows of one load. They are written to ``file``, unless there are none."""

    file: RejectFile | None
    """None for a preview, which only counts them."""
    read: Records
    rows: dict[tuple[int, int], list[Violation]] = field(default_factory=dict)
    """Violations by slice and line in it."""
    shown: tuple[str, ...] = ()
    """The first rejected rows, for a preview."""

    @property
    def count(self) -> int:
        return len(self.rows)

    def take_slices(self, whole: LoadInput) -> None:
        """Add the rows that tasks rejected."""
        for number, input_slice in enumerate(whole.slices):
            self._take(((number, place.line), reasons) for place, reasons in input_slice.rejected.items())

    def take_rows(self, whole: LoadInput, key: str, reasons: Mapping[int, list[Violation]]) -> None:
        """Add rows of one input table, by address."""
        lines = whole.lines(key, list(reasons))
        self._take((lines[address], found) for address, found in reasons.items())

    def take_found(self, whole: LoadInput, found: Reasons) -> dict[str, list[int]]:
        """Add rows whose places are input tables and addresses; returns the addresses by table."""
        by_table: dict[str, dict[int, list[Violation]]] = {}
        for place, reasons in found.items():
            by_table.setdefault(place.source, {})[place.line] = reasons
        for key, rows in by_table.items():
            self.take_rows(whole, key, rows)
        return {key: list(rows) for key, rows in by_table.items()}

    def _take(self, found: Iterable[tuple[tuple[int, int], list[Violation]]]) -> None:
        for row, reasons in found:
            self.rows.setdefault(row, []).extend(reasons)
        check_count(len(self.rows))

    def write(self, whole: LoadInput) -> None:
        """Write the file atomically, unless no row was rejected or this is a preview."""
        sources = Sources(whole.slices)
        rejected = sorted(self.rows.items())
        if self.file is None:
            self.shown = shown_rejections((sources.place(*row), reasons) for row, reasons in rejected)
        if not self.rows or self.file is None:
            return
        wanted: dict[int, list[int]] = {}
        for number, line in sorted(self.rows):
            wanted.setdefault(number, []).append(line)
        records = self.read(whole, wanted)
        self.file.write((sources.place(*row), reasons, records[row[0]].get(row[1])) for row, reasons in rejected)

    def counted(self, result: LoadResult) -> LoadResult:
        """The result of the load with the number of rejected rows."""
        # A repeated load made no commit of its own, so the file would describe nothing.
        if result.repeated and self.file is not None:
            self.file.discard()
        return result if result.repeated else replace(result, rejected=self.count)


@dataclass(frozen=True, slots=True)
class SliceRejects:
    """The rejected rows of one input, for the checks on the driver."""

    whole: LoadInput
    rejects: Rejects

    def begin(self) -> None:
        self.rejects.take_slices(self.whole)

    def take(self, found: Reasons) -> None:
        self.rejects.take_found(self.whole, found)

    def write(self) -> None:
        self.rejects.write(self.whole)
