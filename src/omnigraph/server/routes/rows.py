"""The row of the route table, and the parts that rows share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.server.call import Call
from omnigraph.server.http.bodies import NO_BODY, BodyKind
from omnigraph.server.http.caching import TAG_HEADERS
from omnigraph.server.roads import Road
from omnigraph.wire.http.models.base import EntityKindOutput
from omnigraph.wire.http.models.changes import ChangeOpOutput
from omnigraph.wire.http.models.errors import ChangeErrorOutput, ErrorOutput
from omnigraph.wire.http.models.loads import LoadMode
from omnigraph.wire.http.openapi import JSON, TEXT, Body, Operation, Parameter, Reply

GRAPH = "/graphs/{graph_id}"

MEANINGS = {
    400: "The request is wrong.",
    401: "No valid token was given.",
    403: "The policy does not allow it.",
    404: "It does not exist.",
    405: "The server does not list graphs.",
    409: "It conflicts with another change; nothing was changed.",
    410: "Changes are no longer readable: start again from a baseline.",
    412: "A precondition does not hold; nothing was changed.",
    413: "A limit is exceeded.",
    415: "The media type is not supported.",
    416: "The range is outside the blob.",
    424: "An external object could not be read.",
    429: "The actor has too many requests in flight: wait for the seconds in `Retry-After`.",
    500: "An internal error; its details are in the log of the server.",
    503: "A service is not available, or the outcome is unknown: `recovery_required` names the commit to look up.",
}


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: its documentation, its body, and its road."""

    operation: Operation
    road: Road
    body: BodyKind = NO_BODY
    precheck: Callable[[Call], None] | None = None
    """A check before the body is read."""
    meaning: Callable[[Any], Any] | None = None
    """Conversion of the body to the value that the road works on."""
    is_strict: bool = False
    """Unknown and repeated names in the query string are refused, in the envelope of errors."""
    is_body_last: bool = False
    """The body is read after the gate: it is large, and a caller without rights must not send it."""
    successor: str | None = None
    """The route that replaces this deprecated one."""
    headers: tuple[str, ...] = ()
    """Names, in lower case, of the headers that the handler sees; a trailing ``*`` stands for any ending."""

    @property
    def has_graph(self) -> bool:
        return self.operation.path.startswith(GRAPH)


USUAL = (400, 401, 403, 404, 413, 429, 500, 503)
"""Answers that every operation on a graph may give; 0.10 declares some of them."""


def completed(route: Route) -> Route:
    """The row with all answers that it may give. Those that 0.10 does not declare are marked."""
    operation = route.operation
    if not route.has_graph or operation.method == "HEAD":
        return route
    found = dict(operation.replies)
    for status in USUAL:
        known = found.get(status)
        if known is None:
            found[status] = Reply(MEANINGS[status], {JSON: ErrorOutput}, is_addition=True)
        elif JSON not in known.content:
            found[status] = replace(known, content={**known.content, JSON: ErrorOutput})
    return replace(route, operation=replace(operation, replies=found))


def replies(ok: Reply, *statuses: int, changes: bool = False) -> dict[int, Reply]:
    """The declared answers: success, and errors in their envelope."""
    model = ChangeErrorOutput if changes else ErrorOutput
    found = {200: ok}
    for status in statuses:
        headers = {"Retry-After": "Seconds to wait."} if status == 429 else {}
        found[status] = Reply(MEANINGS[status], {JSON: model}, headers)
    return found


def rejections(*statuses: int) -> dict[int, Reply]:
    """Answers to requests that could not be taken apart, which 0.10 sends and does not declare."""
    return {
        status: Reply("The request could not be taken apart.", {TEXT: None}, is_addition=True) for status in statuses
    }


NOT_MODIFIED = Reply("The caller has this answer already.", headers=TAG_HEADERS, is_addition=True)

FILTERS = (
    Parameter("kind", list[EntityKindOutput], "Only entities of these kinds."),
    Parameter("type", list[str], "Only entities of these types."),
    Parameter("op", list[ChangeOpOutput], "Only changes by these operations."),
)
BRANCH = Parameter("branch", str, "A branch. [default: main]")
LOAD_PARAMETERS = (
    Parameter("branch", str, "The branch to load into. [default: main]"),
    Parameter("from", str, "The branch that a missing one is created from."),
    Parameter("mode", LoadMode, "Treatment of existing entities. [default: merge]"),
)
SNAPSHOT = Parameter("snapshot", str, "A commit, instead of a branch.")


def addition(
    method: str,
    path: str,
    operation_id: str,
    tag: str,
    summary: str,
    ok: Reply,
    parameters: tuple[Parameter, ...] = (),
    body: Body | None = None,
    *,
    statuses: tuple[int, ...] = (),
    status: int = 200,
    is_tagged: bool = False,
) -> Operation:
    """An operation on a graph that Omnigraph 0.10 does not have. Its errors always have their envelope.

    ``is_tagged``: the answer has an entity tag, and a caller that knows it already is answered 304.
    """
    found = replies(ok, *USUAL, *((415,) if body is not None else ()), *statuses)
    if is_tagged:
        found[304] = NOT_MODIFIED
    if status != 200:
        found[status] = found.pop(200)
    return Operation(method, f"{GRAPH}{path}", operation_id, tag, summary, found, parameters, body, is_addition=True)
