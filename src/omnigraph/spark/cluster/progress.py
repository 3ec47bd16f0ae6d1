"""Progress of a load: task counts from Spark and written rows, reported to a callback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.core.ids import encode_ulid
from omnigraph.spark.cluster.connect import is_connect
from omnigraph.spark.cluster.descriptions import described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.2
"""Polling interval: frequent enough for a progress bar, rare enough to cost nothing."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A stage of a load (``reading``, ``checking``), its tasks, and the rows, bytes and files written so far.

    ``seconds`` is the time spent on reading and writing rows. ``reused`` rows were written by the load that is resumed,
    before that time; bytes and files are those of this run.
    """

    stage: str
    tasks_done: int = 0
    tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    reused: int = 0
    bytes: int = 0
    files: int = 0

    @property
    def rows_per_second(self) -> float:
        """Throughput of reading and writing; 0 before the first measurement."""
        return (self.rows - self.reused) / self.seconds if self.seconds else 0.0


Report = Callable[[LoadProgress], None]


class Counter(Protocol):
    """An accumulator. Spark counts the numbers of every finished task exactly once."""

    value: int

    def add(self, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class WrittenCounts:
    """Accumulators of written rows, bytes and files."""

    rows: Counter
    bytes: Counter
    files: Counter

    def add(self, rows: int, bytes_: int, files: int) -> None:
        """Count the output of a task."""
        self.rows.add(rows)
        self.bytes.add(bytes_)
        self.files.add(files)

    def values(self) -> tuple[int, int, int]:
        """Rows, bytes and files so far."""
        return self.rows.value, self.bytes.value, self.files.value


class Watch:
    """Reports the stages of one load to a callback; does nothing without one."""

    def __init__(self, spark: SparkSession, report: Report | None) -> None:
        self._spark = spark
        self._report = report
        self._is_reading = True
        self._rows = 0
        self._reused = 0
        self._seconds = 0.0
        self._began = time.monotonic()
        # Spark Connect has no accumulators.
        self.counts: WrittenCounts | None = None
        if report is not None and not is_connect(spark):
            rows, size, files = (spark.sparkContext.accumulator(0) for _ in range(3))
            self.counts = WrittenCounts(rows, size, files)
        self.label = "Omnigraph: load"
        """The description of jobs, before the name of their stage."""

    def reuse(self, rows: int) -> None:
        """Set the number of rows that an earlier run of this load has written."""
        self._reused = rows

    def reading_done(self, rows: int) -> None:
        """End the measurement: all rows are written, including the reused ones."""
        self._is_reading, self._rows, self._seconds = False, rows, time.monotonic() - self._began

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Describe the jobs that this thread runs within the block, and report their progress."""
        with described(self._spark, f"{self.label}: {name}"):
            if self._report is None:
                yield
                return
            self._emit(name, 0, 0)
            with _handled(self._spark, name, self._emit) if is_connect(self._spark) else self._polled(name):
                yield

    def _emit(self, name: str, done: int, tasks: int) -> None:
        assert self._report is not None
        rows, seconds = self._rows, self._seconds
        written, size, files = (0, 0, 0) if self.counts is None else self.counts.values()
        if self._is_reading:
            rows = self._reused + written
            seconds = time.monotonic() - self._began
        self._report(LoadProgress(name, done, tasks, rows, seconds, self._reused, size, files))

    @contextmanager
    def _polled(self, name: str) -> Iterator[None]:
        """Poll the session's status. A job group separates these jobs from others on the same session."""
        context = self._spark.sparkContext
        group = f"omnigraph-{name}-{encode_ulid(0, id(self))}"
        ended = threading.Event()

        def poll() -> None:
            tracker = context.statusTracker()
            reported = (0, 0, 0)
            while not ended.wait(POLL_SECONDS):
                jobs = (tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group))
                stages = {stage for job in jobs if job is not None for stage in job.stageIds}
                infos = [info for info in (tracker.getStageInfo(stage) for stage in stages) if info is not None]
                done, tasks = sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos)
                seen = (done, tasks, 0 if self.counts is None else self.counts.rows.value)
                if seen != reported:
                    reported = seen
                    self._emit(name, done, tasks)

        poller = threading.Thread(target=poll, name="omnigraph-progress", daemon=True)
        context.setJobGroup(group, f"{self.label}: {name}")
        poller.start()
        try:
            yield
        finally:
            ended.set()
            poller.join()
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type, unused-ignore] # unsets it


def _handled(spark: SparkSession, name: str, emit: Callable[[str, int, int], None]) -> AbstractContextManager[None]:
    """Register a progress handler with Spark Connect, which calls it for every operation of the session."""
    operations: dict[str, tuple[int, int]] = {}

    def note(*, stages: Any, operation_id: str, **_others: Any) -> None:
        seen = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()]
        operations[operation_id] = (sum(done for done, _ in seen), sum(tasks for _, tasks in seen))
        emit(name, sum(done for done, _ in operations.values()), sum(tasks for _, tasks in operations.values()))

    handle: Any = note

    @contextmanager
    def handling() -> Iterator[None]:
        spark.registerProgressHandler(handle)
        try:
            yield
        finally:
            spark.removeProgressHandler(handle)

    return handling()
