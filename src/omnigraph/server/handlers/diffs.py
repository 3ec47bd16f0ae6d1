"""Differences of two branches or commits, in pages and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph.core.actors import Need
from omnigraph.core.ids import is_ulid
from omnigraph.engine.history.diff import Diff
from omnigraph.engine.history.visible_changes import scope_digest
from omnigraph.engine.picture.change_scene import CHANGES_MAX, change_scene, is_by_type
from omnigraph.server.call import Call
from omnigraph.server.handlers.changes import check_limit, filters, only_known_errors
from omnigraph.server.handlers.explore.moments import snapshot_of
from omnigraph.server.handlers.targets import Target
from omnigraph.server.http.caching import tag_headers, unmodified
from omnigraph.server.http.formats import arrow_reply, wants_arrow
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.changes import diff_json
from omnigraph.wire.http.explore import change_picture_json

CHANGES_PER_PAGE: Final = 1_000
CHANGES_PER_PAGE_MAX: Final = 10_000


def _end(text: str) -> Target:
    """A commit by its id, otherwise a branch."""
    name = text.strip()
    return Target.of(None, name) if is_ulid(name) else Target.of(name, None)


def ends(call: Call) -> tuple[Target, Target]:
    """The two sides of a diff."""
    return _end(call.query["from"]), _end(call.query["to"])


def needs(call: Call) -> Iterator[Need]:
    """``read`` on the branches of both sides."""
    for end in ends(call):
        yield from end.needs(call)


def check(call: Call, _: None) -> None:
    """Refuse an empty or a very large page, and a side without a name."""
    check_limit(call, _)
    if call.query.get("limit", 0) > CHANGES_PER_PAGE_MAX:
        raise bad_request(f"limit must be at most {CHANGES_PER_PAGE_MAX}")
    ends(call)


def names_commit(call: Call) -> bool:
    """True if the gate has to find the branch of a commit."""
    return call.served.authorizer is not None and any(end.snapshot is not None for end in ends(call))


def _diff(call: Call) -> tuple[Diff, dict[str, str]]:
    """The changes between the two sides, with the headers of their entity tag."""
    before, after = ends(call)
    # As snapshots: the engine would also take forms such as main~2, which the gate has not decided about.
    diff = call.graph.diff(snapshot_of(call, before), snapshot_of(call, after), **filters(call))
    assert diff.before is not None
    is_fixed = before.snapshot is not None and after.snapshot is not None
    commits, rules = f"{diff.before.commit_id}..{diff.after.commit_id}", scope_digest(diff.before, diff.after)
    return diff, tag_headers(commits, is_fixed=is_fixed, rules=rules)


@only_known_errors
def show(call: Call, _: None) -> Reply:
    """A page of the changes between two sides, with the numbers of all of them."""
    diff, headers = _diff(call)
    unchanged = unmodified(call.headers, headers)
    if unchanged is not None:
        return unchanged
    limit, offset = call.query.get("limit", CHANGES_PER_PAGE), call.query.get("offset", 0)
    if wants_arrow(call.headers):
        table = diff.to_arrow(limit, offset=offset)
        return arrow_reply(table.schema, table.to_batches(), diff.after.commit_id, headers)
    form = diff_json(diff, limit, offset=offset, summary=call.query.get("summary", False))
    return json_reply(form, headers={"vary": "accept", **headers})


@only_known_errors
def picture(call: Call, _: None) -> Reply:
    """The changes between two sides as a picture."""
    diff, headers = _diff(call)
    assert diff.before is not None
    unchanged = unmodified(call.headers, headers)
    if unchanged is not None:
        return unchanged
    limit = call.query.get("limit", CHANGES_MAX)
    key = ("change", headers["etag"], diff.chosen, limit)
    found = call.served.scenes.get(key)
    if found is None:
        found = change_scene(diff, (), "", limit)
        call.served.scenes.put(key, found)
    form = change_picture_json(found, is_by_type=is_by_type(diff, limit))
    return json_reply({"from": diff.before.commit_id, "to": diff.after.commit_id, **form}, headers=headers)


PICTURE = Road(Gate(needs, is_blocking=names_commit), picture, check=check)
SHOW = Road(Gate(needs, is_blocking=names_commit), show, check=check, in_reader=True)
