"""Query texts that are not run: explained, checked, and completed at a position. And SQL, which is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.exec.sql import SqlParams
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.completion.complete import complete
from omnigraph.query.lint import lint_queries
from omnigraph.server.call import Call
from omnigraph.server.handlers.explore.moments import snapshot_of
from omnigraph.server.handlers.queries import rows_reply
from omnigraph.server.handlers.targets import Target, body_names_commit, body_target_needs, check_body_target
from omnigraph.server.http.formats import arrow_reply, wants_arrow
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.checks import check_json
from omnigraph.wire.http.models.texts import CheckRequest, ExplainRequest, SqlRequest
from omnigraph.wire.plans import plan_json


@dataclass(frozen=True, slots=True)
class Explained:
    """A text to explain."""

    text: str
    name: str | None
    target: Target

    @classmethod
    def of(cls, body: ExplainRequest) -> Explained:
        return cls(body.query, body.name, Target.of(body.branch, body.snapshot))


def explain(call: Call, wanted: Explained) -> Reply:
    """The plan of a query or mutation."""
    target = wanted.target
    found = call.graph.explain(wanted.text, name=wanted.name, branch=target.branch, at=target.at)
    return json_reply(plan_json(found.compiled, found))


@dataclass(frozen=True, slots=True)
class Checked:
    """A text to check, and the position of the cursor."""

    text: str
    position: int | None
    parameters: Sequence[str]
    target: Target

    @classmethod
    def of(cls, body: CheckRequest) -> Checked:
        return cls(body.query, body.position, body.parameters, Target.of(body.branch, body.snapshot))


def refuse_position(call: Call, wanted: Checked) -> None:
    """Refuse a position behind the text, and a branch together with a commit."""
    check_body_target(call, wanted)
    if wanted.position is not None and wanted.position > len(wanted.text):
        raise bad_request(f"position {wanted.position} is behind the text of {len(wanted.text)} characters")


def check(call: Call, wanted: Checked) -> Reply:
    """The diagnostics of a text, and completions."""
    catalog = snapshot_of(call, wanted.target).catalog
    report = lint_queries(parse_queries(Source(wanted.text, "<query>")), catalog)
    found = None if wanted.position is None else complete(wanted.text, wanted.position, catalog, wanted.parameters)
    return json_reply(check_json(report, found))


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement to run."""

    text: str
    params: SqlParams | None
    target: Target

    @classmethod
    def of(cls, body: SqlRequest) -> Sql:
        return cls(body.sql, body.params, Target.of(body.branch, body.snapshot))


def sql(call: Call, wanted: Sql) -> Reply:
    """The rows of a select statement."""
    target = wanted.target
    result = call.graph.sql(
        wanted.text,
        wanted.params,
        branch=target.branch,
        at=target.at,
        timeout=call.serving.query_seconds,
        cancel=call.cancel,
    )
    if wants_arrow(call.headers):
        return arrow_reply(result.schema, result.batches(), result.commit_id)
    try:
        return rows_reply(result, target)
    except pa.ArrowException as error:
        # SQL has types and values that tables of a graph do not have, such as infinite times.
        raise bad_request(f"a column has values that JSON cannot show, cast them to text: {error}") from error


_GATE = Gate(body_target_needs, is_blocking=body_names_commit)
EXPLAIN = Road(_GATE, explain, check=check_body_target)
CHECK = Road(_GATE, check, check=refuse_position)
SQL = Road(_GATE, sql, check=check_body_target)
