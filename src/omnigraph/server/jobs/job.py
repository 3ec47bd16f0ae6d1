"""A job: one piece of long work, its progress, and its result or error."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
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
class Written:
    """The commit that a job makes, if it ends well: its branch, and the idempotency key that finds it."""

    branch: str
    key: str


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job at one moment. ``unit`` is what ``done`` counts; times are in microseconds since 1970."""

    id: str
    graph_id: str
    kind: str
    unit: str
    actor_id: str | None
    created_us: int
    owner: str
    """The process that runs it."""
    written: Written | None = None
    state: JobState = JobState.WAITING
    started_us: int | None = None
    finished_us: int | None = None
    seen_us: int = 0
    """The last time that its process said that it runs."""
    done: int = 0
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def to_record(self) -> dict[str, Any]:
        """The facts as JSON values."""
        return {**asdict(self), "state": self.state.value}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> JobFacts:
        """The facts of a record; members that this release does not know are ignored."""
        known = {item.name: record[item.name] for item in fields(cls) if item.name in record}
        written = known.get("written")
        return cls(
            **{
                **known,
                "state": JobState(known["state"]),
                "written": None if written is None else Written(**written),
            }
        )


@dataclass(slots=True)
class Job:
    """A job while it changes. Readers take the ``facts`` of one moment."""

    _facts: JobFacts
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def facts(self) -> JobFacts:
        with self._lock:
            return self._facts

    def update(self, **changes: Any) -> JobFacts:
        """Replace some of the facts."""
        with self._lock:
            self._facts = replace(self._facts, **changes)
            return self._facts

    def progress(self, done: int, *_: object) -> None:
        """Record the progress, as loads and maintenance report it. Spark reports more than a number."""
        if isinstance(done, int):
            self.update(done=done)
