"""Changes: the feed of a branch, and the changes of one commit. Only errors that a reader can act on pass through."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.core.limits import FEED_CHANGES_PER_PAGE
from omnigraph.errors import (
    ChangeFeedGap,
    CursorRejected,
    InputError,
    LimitExceeded,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknown,
    PolicyDenied,
    QueryCancelled,
)
from omnigraph.history.cursors import is_within_commit
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.targets import find_commit, no_commit
from omnigraph.server.http.refusals import Refusal, bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.changes import change_page_json, commit_changes_json

PASSED_ON: Final = (
    CursorRejected,
    ChangeFeedGap,
    InputError,
    LimitExceeded,
    NotFoundError,
    OutcomeUnknown,
    PolicyDenied,
    QueryCancelled,
)
"""Errors that a reader of changes is meant to see; everything else is one fixed text."""

Handler = Callable[[Call, Any], Reply]


def only_known_errors(handler: Handler) -> Handler:
    """Answer every other error with one text that says nothing about the store."""

    @functools.wraps(handler)
    def run(call: Call, body: Any) -> Reply:
        try:
            return handler(call, body)
        except PASSED_ON:
            raise
        except OmnigraphError as error:
            raise Refusal(500, "internal error while reading changes", "internal", error.code) from error

    return run


def check_limit(call: Call, _: Any) -> None:
    """Refuse a page of no changes."""
    if call.query.get("limit") == 0:
        raise bad_request("limit must be at least 1")


def filters(call: Call) -> dict[str, Any]:
    """The filter of the query string, for the engine."""
    return {
        "kind": [word.value for word in call.query.get("kind", ())],
        "type": call.query.get("type", []),
        "op": [word.value for word in call.query.get("op", ())],
    }


def check_poll(call: Call, _: Any) -> None:
    """Refuse a page of no changes, and a branch without a name."""
    check_limit(call, _)
    branch_name(call.query.get("branch"))


def poll_needs(call: Call) -> Iterator[Need]:
    """``read`` on the branch."""
    yield Need(Action.READ, branch_name(call.query.get("branch")))


@only_known_errors
def poll(call: Call, _: None) -> Reply:
    """One page of the feed."""
    since = _since(call)
    limit = call.query.get("limit", FEED_CHANGES_PER_PAGE)
    branch = branch_name(call.query.get("branch"))
    return json_reply(change_page_json(call.graph.changes(since, limit=limit, branch=branch, **filters(call))))


def _since(call: Call) -> str:
    """The start, cursor or page token of a request, which exclude each other."""
    given = [name for name in ("cursor", "start", "page_token") if name in call.query]
    if len(given) > 1:
        raise bad_request(f"{' and '.join(given)} exclude each other")
    if not given:
        return "now"
    text: str = call.query[given[0]]
    if given == ["start"]:
        if text not in ("now", "beginning") and not text.startswith("after:"):
            raise bad_request("start must be now, beginning or after:<commit>")
        return text
    # A token is no cursor: a reader that stored one would lose its place within a commit.
    if is_within_commit(text) != (given == ["page_token"]):
        raise CursorRejected(f"change cursor rejected: it is no {given[0].replace('_', ' ')}", reason="kind")
    return text


def commit_needs(call: Call) -> Iterator[Need]:
    """``read`` on the branch of the commit, which must exist."""
    yield Need(Action.READ, find_commit(call, call.path["commit_id"]).branch)


def missing_commit(call: Call) -> Refusal:
    """The answer to a commit that does not exist, and to one that may not be seen."""
    return no_commit(call.path["commit_id"])


@only_known_errors
def of_commit(call: Call, _: None) -> Reply:
    """One page of the changes of a commit."""
    page = call.graph.commit_changes(
        call.path["commit_id"],
        page_token=call.query.get("page_token"),
        limit=call.query.get("limit", FEED_CHANGES_PER_PAGE),
        **filters(call),
    )
    return json_reply(commit_changes_json(page))


POLL = Road(Gate(poll_needs), poll, check=check_poll, in_reader=True)
OF_COMMIT = Road(
    Gate(commit_needs, hidden=missing_commit, is_blocking=lambda call: True),
    of_commit,
    check=check_limit,
    in_reader=True,
)
