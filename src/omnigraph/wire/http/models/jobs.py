"""Bodies of jobs and of maintenance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import ClosedRequest, Count, Form, Int64, WireEnum
from omnigraph.wire.http.models.errors import ErrorOutput


class JobStateOutput(WireEnum):
    """The life of a job, in this order; a job succeeds or fails."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class JobProgressOutput(Form):
    """The work done so far, in rows, tables or files."""

    done: Count
    unit: str


class JobOutput(Form):
    """A job. Times are in microseconds since 1970. ``result`` is that of a load, optimize, cleanup or verify."""

    id: str
    kind: str
    state: JobStateOutput
    actor_id: str | None = None
    created_at: Int64
    started_at: Int64 | None = None
    finished_at: Int64 | None = None
    progress: JobProgressOutput
    result: Any = None
    error: ErrorOutput | None = None


class JobListOutput(Form):
    """Jobs of a graph, newest first."""

    jobs: list[JobOutput]


class VerdictOutput(WireEnum):
    """The severity of a finding."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


class FindingOutput(Form):
    """One examined fact. ``advice`` names the command that helps."""

    check: str
    verdict: VerdictOutput
    found: str
    advice: str | None = None


class FindingsOutput(Form):
    """The findings about a graph, the most basic ones first."""

    findings: list[FindingOutput]


class OptimizeRequest(ClosedRequest):
    """Tables of a branch to compact and index; no ``types`` are all of them."""

    branch: str | None = None
    types: list[str] | None = None
    compact: bool = True
    index: bool = True


class CleanupRequest(ClosedRequest):
    """Rules for commits to expire; without both, only unreferenced files go. Durations are texts such as ``7d``."""

    keep: Annotated[int, Field(ge=1)] | None = None
    older_than: str | None = None
    grace: str | None = None
    dry_run: bool = False


class VerifyRequest(ClosedRequest):
    """Depth of the check: without ``deep`` only the sizes of files are compared."""

    deep: bool = True
