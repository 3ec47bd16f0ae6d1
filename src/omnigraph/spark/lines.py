"""Loads of files of JSON lines: a task per split, with a journal to go on from, and bad rows set aside if asked to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.engine.graph import Graph
from omnigraph.engine.loading import LoadRequest
from omnigraph.engine.results import LoadResult
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.spark.bulk_load import Checks, load_parts
from omnigraph.spark.input import LoadInput, RowLines
from omnigraph.spark.journal import Journal, asked_for
from omnigraph.spark.parts import Part, PartWriter, discard_part, lines_of_rows
from omnigraph.spark.progress import Watch
from omnigraph.spark.rejected_rows import Reasons, records_of_lines
from omnigraph.spark.rejects import Rejects
from omnigraph.spark.splits import FileSplit
from omnigraph.spark.tasks import run_tasks
from omnigraph.write.embedding import has_embedded_properties
from omnigraph.write.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WriteSplit = Callable[[FileSplit], Part]


@dataclass(frozen=True)
class LineLoad:
    """One load of files that are cut into splits."""

    spark: SparkSession
    splits: Sequence[FileSplit]
    checks: Checks
    watch: Watch

    def run(self, graph: Graph, request: LoadRequest, reject_to: str | None, *, resume: bool) -> LoadResult:
        """Load as one commit; ``resume`` goes on with the same load that was killed, if there is one."""
        if reject_to is not None and self.checks is Checks.CLUSTER:
            hint = "load with checks by the driver"
            raise UsageError("rows cannot be rejected with checks by the cluster", hint=hint)
        rejects = None if reject_to is None else Rejects(reject_to, self._find_records)
        journal = self._journal(graph, request, is_rejecting=rejects is not None, resume=resume)
        keyed = request if request.idempotency_key else replace(request, idempotency_key=journal.key)
        write = partial(self._write, journal, request.parsed_mode())
        with journal.kept_if_killed(), nullcontext() if rejects is None else rejects.kept():
            result = graph.load_with(partial(load_parts, self.spark, write, self.checks, self.watch, rejects), keyed)
            return result if rejects is None else rejects.told(result)

    def _journal(self, graph: Graph, request: LoadRequest, *, is_rejecting: bool, resume: bool) -> Journal:
        try:
            snapshot = graph.snapshot(request.branch)
        except NotFoundError:
            if request.base is None:
                raise
            snapshot = graph.snapshot(request.base)
        embedder = graph.embedder if has_embedded_properties(snapshot.catalog) else None
        asked = asked_for(
            self.splits,
            branch=request.branch,
            mode=request.parsed_mode().value,
            schema=snapshot.state.schema_digest,
            idempotency_key=request.idempotency_key,
            is_rejecting=is_rejecting,
            # Vectors of two models, or of one and of nobody, do not belong into one load.
            model=embedder.model if embedder is not None else None,
        )
        found = Journal.take_over(snapshot.store, asked) if resume else None
        return found or Journal.start(snapshot.store, asked)

    def _write(self, journal: Journal, mode: LoadMode, writer: PartWriter) -> LoadInput:
        """Run the tasks that no earlier run of this load has finished."""
        done = journal.finished()
        left = [(number, split) for number, split in enumerate(self.splits) if number not in done]
        work = partial(_write_noted, journal, writer.write_split)
        written = run_tasks(self.spark, work, left, partial(_discard_part, journal))
        done.update(zip((number for number, _ in left), written, strict=True))

        def disposable() -> Sequence[Part]:
            return written if journal.is_ended_by_us() else []

        parts = [done[number] for number in range(len(self.splits))]
        find_lines = partial(self._find_lines, writer, parts)
        return LoadInput(writer.store, mode, parts, find_lines, disposable=disposable)

    def _find_lines(
        self, writer: PartWriter, parts: Sequence[Part], wanted: Mapping[tuple[int, str], Sequence[int]]
    ) -> RowLines:
        """Lines of rows in splits whose lines are not plain runs: those splits are read once more."""
        numbers = sorted({number for number, _ in wanted})
        asked = [
            (self.splits[number], {key: wanted[n, key] for n, key in wanted if n == number}, parts[number].rejected)
            for number in numbers
        ]
        catalog = writer.catalog

        def read(item: tuple[FileSplit, dict[str, Sequence[int]], Reasons]) -> dict[str, dict[int, int]]:
            return lines_of_rows(catalog, *item)

        found = run_tasks(self.spark, read, asked)
        return {(n, key): lines for n, part in zip(numbers, found, strict=True) for key, lines in part.items()}

    def _find_records(self, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of lines, by number of the split and line in it."""
        asked = [(self.splits[number], lines) for number, lines in wanted.items()]
        return dict(zip(wanted, run_tasks(self.spark, _read_records, asked), strict=True))


def _write_noted(journal: Journal, write: WriteSplit, item: tuple[int, FileSplit]) -> Part:
    number, split = item
    part = write(split)
    journal.note(number, part)
    return part


def _discard_part(journal: Journal, part: Part) -> None:
    if journal.is_ended_by_us():
        discard_part(journal.store, part)


def _read_records(item: tuple[FileSplit, Sequence[int]]) -> dict[int, object]:
    return records_of_lines(*item)
