"""Maintenance of a remote graph: jobs of its server, and their results from the JSON forms of ``omnigraph.wire``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from omnigraph.client.forms import Form, read_commit
from omnigraph.client.jobs import awaited
from omnigraph.client.transport import Request, Transport
from omnigraph.engine.results import VerifyProblem, VerifyReport
from omnigraph.engine.upkeep.cleanup_result import CleanupResult
from omnigraph.engine.upkeep.optimize_result import OptimizeResult
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec
from omnigraph.storage.upkeep.sweep import Count, Fate
from omnigraph.write.upkeep.optimize import TableOutcome

SECOND_US = 1_000_000


def run_maintenance(
    transport: Transport, task: str, options: Mapping[str, Any], progress: Callable[[int], None] | None
) -> dict[str, Any]:
    """Run ``optimize``, ``cleanup`` or ``verify`` as a job of the server, once even if an answer is lost."""
    body = {name: value for name, value in options.items() if value is not None}
    change = None if task == "verify" else f"{task} was done"
    request = Request("POST", f"/maintenance/{task}", json=body, change=change, key=uuid4().hex)
    return awaited(transport, transport.form(request), request, progress)


def read_optimize(form: Form) -> OptimizeResult:
    """The result of ``optimize``."""
    tables = tuple(map(_outcome, form["tables"]))
    return OptimizeResult(form["branch"], tables, tuple(map(read_commit, form["commits"])))


def _outcome(form: Form) -> TableOutcome:
    return TableOutcome(
        form["table_key"],
        form["rows"],
        form["fragments_before"],
        form["fragments_after"],
        form["rows_rewritten"],
        form["deleted_rows_removed"],
        tuple(form["indexes_built"]),
        tuple(map(_coverage, form["indexes"])),
        tuple(form["skipped"]),
        form["engine"],
    )


def _coverage(form: Form) -> Coverage:
    spec = IndexSpec(form["column"], IndexKind[form["kind"].upper()])
    # A server shows how many segments an index has, and not which.
    segments = cast("tuple[Any, ...]", (None,) * form["segments"])
    uncovered = () if form["rows_covered"] == form["rows"] else (0,)
    return Coverage(spec, "", segments, uncovered, form["rows_covered"], form["rows"])


def read_cleanup(form: Form) -> CleanupResult:
    """The result of ``cleanup``."""
    older_than, commits = form["older_than_secs"], form["commits"]
    return CleanupResult(
        form["dry_run"],
        form["keep_versions"],
        None if older_than is None else older_than * SECOND_US,
        form["grace_secs"] * SECOND_US,
        commits["retained"],
        commits["given_up"],
        commits["waiting"],
        commits["gone"],
        {kind: _fates(counts) for kind, counts in form["files"].items()},
        tuple(Damaged(item["path"], item["what"], item.get("branch")) for item in form["damaged"]),
    )


def _fates(form: Form) -> dict[Fate, Count]:
    return {
        Fate[name.upper()]: Count(count["files"], count["bytes"], count.get("until", 0)) for name, count in form.items()
    }


def read_verify(form: Form) -> VerifyReport:
    """The report of ``verify``."""
    return VerifyReport(
        form["commits"], form["files"], form["bytes"], _problems(form["problems"]), _problems(form["remarks"])
    )


def _problems(forms: Sequence[Form]) -> tuple[VerifyProblem, ...]:
    return tuple(VerifyProblem(item["path"], item["what"], tuple(item["commits"])) for item in forms)
