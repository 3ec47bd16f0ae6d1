"""Jobs: those of the caller, one by its id, and maintenance, which always is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.engine.graph import Graph
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.branches import size
from omnigraph.server.handlers.commit_headers import idempotency_key
from omnigraph.server.http.refusals import Refusal, not_found
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.jobs.job import JobFacts, Written
from omnigraph.server.jobs.pool import KEPT_MAX, Progress, Work
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.http.jobs import job_json, jobs_json
from omnigraph.wire.http.models.jobs import CleanupRequest, OptimizeRequest, VerifyRequest
from omnigraph.wire.maintenance import cleanup_json, findings_json, optimize_json, verify_json

LISTED: Final = 100
"""Jobs of a list, by default."""


def accepted(
    call: Call, kind: str, unit: str, work: Work, job_id: str | None = None, written: Written | None = None
) -> Reply:
    """Submit a job; the answer says where to ask for it. The same request with the same key is the same job."""
    graph = (call.served.id, call.served.trusted)
    given = job_id or call.jobs.new_id()
    facts = call.jobs.submit(given, graph, kind, unit, call.actor_id, work, idempotency_key(call), written)
    return json_reply(job_json(facts), 202, {"location": f"/graphs/{call.served.id}/jobs/{facts.id}"})


def list_needs(call: Call) -> Iterator[Need]:
    """Nothing for the jobs of the caller; ``admin`` for those of all actors."""
    if call.query.get("all"):
        yield Need(Action.ADMIN)


def list_jobs(call: Call, _: None) -> Reply:
    """The jobs of the caller, or of all actors."""
    every = call.jobs.listed(call.served.id, call.served.trusted, KEPT_MAX)
    shown = every if call.query.get("all") else [facts for facts in every if facts.actor_id == call.actor_id]
    return json_reply(jobs_json(shown[: call.query.get("limit", LISTED)]))


def show_needs(call: Call) -> Iterator[Need]:
    """Nothing for a job of the caller; ``admin`` for one of another actor."""
    if _find(call).actor_id != call.actor_id:
        yield Need(Action.ADMIN)


def always(call: Call) -> bool:
    """Records of jobs are in the store."""
    return True


def missing(call: Call) -> Refusal:
    """The answer to a job that does not exist, and to one that may not be seen: the same bytes."""
    return not_found("job not found")


def show(call: Call, _: None) -> Reply:
    """One job."""
    return json_reply(job_json(_find(call)))


def _find(call: Call) -> JobFacts:
    found = call.jobs.find(call.served.id, call.served.trusted, call.path["job_id"])
    if found is None:
        raise missing(call)
    return found


def admin_needs(call: Call) -> Iterator[Need]:
    """``admin``, which concerns no single branch."""
    yield Need(Action.ADMIN)


def optimize(call: Call, body: OptimizeRequest) -> Reply:
    """Compact and index tables."""
    branch = branch_name(body.branch)

    def run(graph: Graph, progress: Progress) -> dict[str, Any]:
        result = graph.optimize(branch, types=body.types, compact=body.compact, index=body.index, progress=progress)
        return optimize_json(result)

    return accepted(call, "optimize", "tables", _bound(call, run))


def cleanup(call: Call, body: CleanupRequest) -> Reply:
    """Delete what nothing refers to."""

    def run(graph: Graph, progress: Progress) -> dict[str, Any]:
        options = body.model_dump()
        return cleanup_json(graph.cleanup(**options, progress=progress))

    return accepted(call, "cleanup", "files", _bound(call, run))


def verify(call: Call, body: VerifyRequest) -> Reply:
    """Check every file of the history."""

    def run(graph: Graph, progress: Progress) -> dict[str, Any]:
        return verify_json(graph.verify(deep=body.deep, progress=progress))

    return accepted(call, "verify", "files", _bound(call, run))


def doctor(call: Call, _: None) -> Reply:
    """The findings about a branch. Nothing of the store is named but tables and numbers."""
    findings = call.graph.doctor(branch_name(call.query.get("branch")))
    return json_reply(findings_json(findings))


def _bound(call: Call, run: Callable[[Graph, Progress], dict[str, Any]]) -> Work:
    """Work on the graph as its actor calls it: the engine asks the policy again when the job runs."""
    graph = call.graph
    return lambda progress: run(graph, progress)


LIST = Road(Gate(list_needs), list_jobs)
SHOW = Road(Gate(show_needs, hidden=missing, is_blocking=always), show)
OPTIMIZE = Road(Gate(admin_needs), optimize, Lane.WRITE, size=size)
CLEANUP = Road(Gate(admin_needs), cleanup, Lane.WRITE, size=size)
VERIFY = Road(Gate(admin_needs), verify, Lane.WRITE, size=size)
DOCTOR = Road(Gate(admin_needs), doctor)
