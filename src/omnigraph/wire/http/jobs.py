"""Jobs of a server as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class JobForm(Protocol):
    """The part of a job that is shown."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def actor_id(self) -> str | None: ...
    @property
    def created_us(self) -> int: ...
    @property
    def started_us(self) -> int | None: ...
    @property
    def finished_us(self) -> int | None: ...
    @property
    def done(self) -> int: ...
    @property
    def unit(self) -> str: ...
    @property
    def result(self) -> Mapping[str, Any] | None: ...
    @property
    def error(self) -> Mapping[str, Any] | None: ...


def job_json(job: JobForm) -> dict[str, Any]:
    """A job with its progress, and when it has ended its result or error."""
    return {
        "id": job.id,
        "kind": job.kind,
        "state": str(job.state),
        "actor_id": job.actor_id,
        "created_at": job.created_us,
        "started_at": job.started_us,
        "finished_at": job.finished_us,
        "progress": {"done": job.done, "unit": job.unit},
        "result": None if job.result is None else dict(job.result),
        "error": None if job.error is None else dict(job.error),
    }


def jobs_json(jobs: Iterable[JobForm]) -> dict[str, Any]:
    """A list of jobs, in the order given."""
    return {"jobs": [job_json(job) for job in jobs]}
