"""Files of JSON lines as the source of a load: one task per group of splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.rows.rejected.reasons import Reasons
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.spark.load.input import LoadInput, RowLines
from omnigraph.spark.load.journal import Journal
from omnigraph.spark.load.rejected_rows import records_of_lines
from omnigraph.spark.load.runs import Identity, disposable, undo_noted, undoing
from omnigraph.spark.load.slices import InputSlice, SliceWriter, lines_of_rows
from omnigraph.spark.load.splits import SplitGroup
from omnigraph.write.load.mode import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WriteLines = Callable[[SplitGroup], InputSlice]


@dataclass(frozen=True)
class LineFiles:
    """JSON-lines files, divided into groups of splits."""

    spark: SparkSession
    groups: Sequence[SplitGroup]

    def identity(self, catalog: Catalog) -> Identity:
        """The files with size and modification stamp, and the boundaries of the splits in each group."""
        splits = [split for group in self.groups for split in group.splits]
        return {
            "files": [[split.file.address, split.file.size, split.file.stamp] for split in splits if not split.start],
            "splits": [
                [[split.entry, split.path, split.start, split.end] for split in group.splits] for group in self.groups
            ],
        }

    def write(self, writer: SliceWriter, journal: Journal | None, mode: LoadMode, watch: Watch) -> LoadInput:
        """Run the tasks that no earlier run of this load has completed."""
        done = {} if journal is None else journal.finished()
        watch.reuse(sum(input_slice.rows for input_slice in done.values()))
        left = [(number, group) for number, group in enumerate(self.groups) if number not in done]
        work = partial(_write_noted, journal, writer.write_lines)
        before = frozenset(done)
        try:
            written = run_tasks(self.spark, work, left, undoing(writer.store, journal))
        except BaseException:
            undo_noted(writer.store, journal, before)
            raise
        done.update(zip((number for number, _ in left), written, strict=True))
        slices = [done[number] for number in range(len(self.groups))]
        find_lines = partial(self._find_lines, writer.catalog, slices)
        return LoadInput(
            writer.store, mode, slices, find_lines, disposable=disposable(journal, written), journal=journal
        )

    def _find_lines(
        self, catalog: Catalog, slices: Sequence[InputSlice], wanted: Mapping[tuple[int, str], Sequence[int]]
    ) -> RowLines:
        """Lines of rows in groups without consecutive lines, found by reading those groups again."""
        numbers = sorted({number for number, _ in wanted})
        reads = [
            (self.groups[number], {key: wanted[n, key] for n, key in wanted if n == number}, slices[number].rejected)
            for number in numbers
        ]

        def read(item: tuple[SplitGroup, dict[str, Sequence[int]], Reasons]) -> dict[str, dict[int, int]]:
            return lines_of_rows(catalog, *item)

        found = run_tasks(self.spark, read, reads)
        return {(n, key): lines for n, by_type in zip(numbers, found, strict=True) for key, lines in by_type.items()}

    def records(self, whole: LoadInput, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of lines, by group and line in it, found by reading those groups again."""
        reads = [(self.groups[number], lines) for number, lines in wanted.items()]
        return dict(zip(wanted, run_tasks(self.spark, _read_records, reads), strict=True))


def _write_noted(journal: Journal | None, write: WriteLines, item: tuple[int, SplitGroup]) -> InputSlice:
    number, group = item
    input_slice = write(group)
    if journal is not None:
        journal.note(number, input_slice)
    return input_slice


def _read_records(item: tuple[SplitGroup, Sequence[int]]) -> dict[int, object]:
    return records_of_lines(*item)
