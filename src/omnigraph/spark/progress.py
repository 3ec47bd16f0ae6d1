"""How far a job is: told by Spark while it runs, handed to whoever wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.core.ids import encode_ulid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED_EVERY_SECONDS = 0.2
"""Often enough for a bar that moves, seldom enough to cost nothing."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A stage of a load (``reading``, ``checking``), its tasks, and the rows that are written so far.

    ``seconds`` is how long reading and writing those rows took, 0 while it is not over.
    """

    stage: str
    tasks_done: int = 0
    tasks: int = 0
    rows: int = 0
    seconds: float = 0.0


Report = Callable[[LoadProgress], None]


class Watch:
    """Tells a callback about the stages of one load. Without a callback it does nothing."""

    def __init__(self, spark: SparkSession, report: Report | None) -> None:
        self._spark = spark
        self._report = report
        self._rows = 0
        self._seconds = 0.0
        self._began = time.monotonic()

    @contextmanager
    def stage(self, name: str, rows: int | None = None) -> Iterator[None]:
        """Watch the jobs that this thread runs within the block. ``rows`` are those written by the stage before it."""
        if rows is not None:
            now = time.monotonic()
            self._rows, self._seconds, self._began = rows, now - self._began if rows else 0.0, now
        report = self._report
        if report is None:
            yield
            return
        report(LoadProgress(name, rows=self._rows, seconds=self._seconds))
        # Jobs of others on the same session are told apart by their group. A remote session has no context to ask.
        context = None if _is_remote(self._spark) else self._spark.sparkContext
        if context is None:
            yield
            return
        group = f"omnigraph-{name}-{encode_ulid(0, id(self))}"
        ended = threading.Event()

        def ask() -> None:
            tracker = context.statusTracker()
            told = (0, 0)
            while not ended.wait(ASKED_EVERY_SECONDS):
                jobs = (tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group))
                stages = {stage for job in jobs if job is not None for stage in job.stageIds}
                infos = [info for info in (tracker.getStageInfo(stage) for stage in stages) if info is not None]
                seen = (sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos))
                if seen != told:
                    told = seen
                    report(LoadProgress(name, *seen, self._rows, self._seconds))

        asking = threading.Thread(target=ask, name="omnigraph-progress", daemon=True)
        context.setJobGroup(group, f"omnigraph: {name}")
        asking.start()
        try:
            yield
        finally:
            ended.set()
            asking.join()
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type, unused-ignore] # unsets it


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")
