"""A job: one piece of long work, its progress, and its result or error."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    """The life of a job, in this order."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED)


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job at one moment. ``unit`` is what ``done`` counts; times are in microseconds since 1970."""

    id: str
    graph_id: str
    kind: str
    unit: str
    actor_id: str | None
    created_us: int
    state: JobState = JobState.WAITING
    started_us: int | None = None
    finished_us: int | None = None
    done: int = 0
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


@dataclass(slots=True)
class Job:
    """A job while it changes. Readers take the ``facts`` of one moment."""

    _facts: JobFacts
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def facts(self) -> JobFacts:
        with self._lock:
            return self._facts

    def update(self, **changes: Any) -> None:
        """Replace some of the facts."""
        with self._lock:
            self._facts = replace(self._facts, **changes)

    def progress(self, done: int, *_: object) -> None:
        """Record the progress, as loads and maintenance report it. Spark reports more than a number."""
        if isinstance(done, int):
            self.update(done=done)
