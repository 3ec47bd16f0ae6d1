"""How far a job is: told by Spark while it runs, handed to whoever wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.core.ids import encode_ulid
from omnigraph.spark.cluster.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED_EVERY_SECONDS = 0.2
"""Often enough for a bar that moves, seldom enough to cost nothing."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A stage of a load (``reading``, ``checking``), its tasks, and the rows that are written so far.

    ``seconds`` is for how long rows have been read and written, or how long that took. ``reused`` of the rows were
    written by the load that is resumed, before those seconds began.
    """

    stage: str
    tasks_done: int = 0
    tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    reused: int = 0

    @property
    def rows_per_second(self) -> float:
        """How fast rows are read and written; 0 while there is nothing to tell."""
        return (self.rows - self.reused) / self.seconds if self.seconds else 0.0


Report = Callable[[LoadProgress], None]


class RowCounter(Protocol):
    """Is told by tasks how many rows they wrote, and counts those of finished tasks once."""

    value: int

    def add(self, rows: int) -> None: ...


class Watch:
    """Tells a callback about the stages of one load. Without a callback it does nothing."""

    def __init__(self, spark: SparkSession, report: Report | None) -> None:
        self._spark = spark
        self._report = report
        self._is_reading = True
        self._rows = 0
        self._reused = 0
        self._seconds = 0.0
        self._began = time.monotonic()
        # A remote session has no counters.
        self.counter: RowCounter | None = None
        if report is not None and not is_connect(spark):
            self.counter = spark.sparkContext.accumulator(0)

    def reuse(self, rows: int) -> None:
        """So many rows were there before."""
        self._reused = rows

    def is_read(self, rows: int) -> None:
        """All rows are written: so many, those that were there before included."""
        self._is_reading, self._rows, self._seconds = False, rows, time.monotonic() - self._began

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Watch the jobs that this thread runs within the block."""
        if self._report is None:
            yield
            return
        self._tell(name, 0, 0)
        with _handled(self._spark, name, self._tell) if is_connect(self._spark) else self._asked(name):
            yield

    def _tell(self, name: str, done: int, tasks: int) -> None:
        assert self._report is not None
        rows, seconds = self._rows, self._seconds
        if self._is_reading:
            rows = self._reused + (self.counter.value if self.counter is not None else 0)
            seconds = time.monotonic() - self._began
        self._report(LoadProgress(name, done, tasks, rows, seconds, self._reused))

    @contextmanager
    def _asked(self, name: str) -> Iterator[None]:
        """Ask the session again and again. Jobs of others on it are told apart by their group."""
        context = self._spark.sparkContext
        group = f"omnigraph-{name}-{encode_ulid(0, id(self))}"
        ended = threading.Event()

        def ask() -> None:
            tracker = context.statusTracker()
            told = (0, 0, 0)
            while not ended.wait(ASKED_EVERY_SECONDS):
                jobs = (tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group))
                stages = {stage for job in jobs if job is not None for stage in job.stageIds}
                infos = [info for info in (tracker.getStageInfo(stage) for stage in stages) if info is not None]
                done, tasks = sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos)
                seen = (done, tasks, 0 if self.counter is None else self.counter.value)
                if seen != told:
                    told = seen
                    self._tell(name, done, tasks)

        asking = threading.Thread(target=ask, name="omnigraph-progress", daemon=True)
        context.setJobGroup(group, f"omnigraph: {name}")
        asking.start()
        try:
            yield
        finally:
            ended.set()
            asking.join()
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type, unused-ignore] # unsets it


def _handled(spark: SparkSession, name: str, tell: Callable[[str, int, int], None]) -> AbstractContextManager[None]:
    """A session of Spark Connect tells by itself, of every operation of its own."""
    operations: dict[str, tuple[int, int]] = {}

    def note(*, stages: Any, operation_id: str, **_others: Any) -> None:
        seen = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()]
        operations[operation_id] = (sum(done for done, _ in seen), sum(tasks for _, tasks in seen))
        tell(name, sum(done for done, _ in operations.values()), sum(tasks for _, tasks in operations.values()))

    handle: Any = note

    @contextmanager
    def handling() -> Iterator[None]:
        spark.registerProgressHandler(handle)
        try:
            yield
        finally:
            spark.removeProgressHandler(handle)

    return handling()
