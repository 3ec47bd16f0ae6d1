"""Writing tools: a branch for each task, typed writes on it, and a merge or a review at the end.

The branch is the whole state of a task, so any process can continue it: ``agent/<actor>/<task>``, whose last part is
a ULID and holds the time of its start. Every commit of a task names it as its ``run``, which is what ``undo_task``
reverts.
"""

from __future__ import annotations

from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.core.ids import encode_ulid, is_ulid
from omnigraph.errors import NotFoundError, PolicyDenied, UsageError
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.branch_names import task_branch, task_branches, task_time
from omnigraph.mcp.budget import fit, shorten
from omnigraph.mcp.session import Session
from omnigraph.schema.catalog import EdgeType, all_types, type_named
from omnigraph.wire.merges import merge_preview_json
from omnigraph.wire.writes import load_json, mutation_json

TASK_DAYS: Final = 7
DAY_MS: Final = 86_400_000
CONFLICTS_MAX: Final = 20
CONFLICTS_TOKENS: Final = 2_000


def start_task(session: Session, given: models.StartTask) -> Answer:
    """Fork a branch for a task."""
    mine = task_branches(session.graph, session.actor)
    now = session.clock()
    running = [name for name in mine if now - task_time(name) < TASK_DAYS * DAY_MS]
    if len(running) >= session.settings.open_tasks_max:
        names = ", ".join(name.rpartition("/")[2] for name in running)
        raise UsageError(
            f"tasks of {session.actor!r} are open: {names}",
            hint="finish or undo one of them first",
        )
    task = encode_ulid(now, session.random())
    branch = task_branch(session.actor, task)
    info = session.graph.create_branch(branch, session.settings.branch)
    content = {"task": task, "branch": branch, "goal": given.goal, "expires_days": TASK_DAYS}
    return Answer(content, info.head)


def write(session: Session, given: models.Write) -> Answer:
    """Insert, update and delete entities on the branch of a task."""
    branch = _branch(session, given.task)
    if not given.upserts and not given.deletes:
        raise UsageError("nothing to write", hint="pass `upserts` or `deletes`")
    content: dict[str, Any] = {"task": given.task}
    commit = None
    if given.upserts:
        result = session.graph.load(
            [_record(session, branch, item) for item in given.upserts],
            "upsert",
            branch=branch,
            message=given.message,
            provenance={"run": given.task},
        )
        content["written"] = load_json(result)
        commit = result.commit.id
    if given.deletes:
        text, params = _deletion(session, branch, given.deletes)
        deleted = session.graph.mutate(
            text, params, branch=branch, message=given.message, provenance={"run": given.task}
        )
        content["deleted"] = mutation_json(deleted)
        commit = deleted.commit.id if deleted.commit is not None else commit
    return Answer(shorten(content), commit)


def mutate(session: Session, given: models.Mutate) -> Answer:
    """Run a mutation on the branch of a task."""
    branch = _branch(session, given.task)
    result = session.graph.mutate(
        given.text,
        given.params,
        name=given.name,
        branch=branch,
        message=given.message,
        provenance={"run": given.task},
    )
    return Answer({"task": given.task, **shorten(mutation_json(result))}, result.commit.id if result.commit else None)


def preview_merge(session: Session, given: models.Task) -> Answer:
    """Preview the merge of a task: counts and conflicts."""
    branch = _branch(session, given.task)
    return _previewed(session, given.task, branch)


def finish_task(session: Session, given: models.FinishTask) -> Answer:
    """Merge the task where that is allowed; otherwise leave it for a person to review."""
    branch = _branch(session, given.task)
    into = session.settings.branch
    preview = _previewed(session, given.task, branch)
    if preview.content["conflicts"]:
        return Answer({**preview.content, "status": "conflicts"}, preview.commit, preview.truncated)
    if not session.settings.allow_main or not session.may(Need(Action.BRANCH_MERGE, branch, into)):
        review = {"source": branch, "into": into}
        return Answer({**preview.content, "status": "review", "review": review}, preview.commit, preview.truncated)
    merged = session.graph.merge(branch, into, message=given.message, provenance={"run": given.task})
    session.graph.delete_branch(branch)
    commit = merged.commit.id if merged.commit is not None else None
    return Answer({"task": given.task, "status": "merged", "into": into}, commit)


def undo_task(session: Session, given: models.Task) -> Answer:
    """Drop the branch of a task, or revert its merge."""
    branch = task_branch(session.actor, given.task)
    if branch in task_branches(session.graph, session.actor):
        session.graph.delete_branch(branch)
        return Answer({"task": given.task, "status": "dropped"})
    if not is_ulid(given.task):
        raise _unknown(given.task)
    if not session.settings.allow_main:
        raise PolicyDenied(
            f"task {given.task!r} has been merged, and this server does not write to {session.settings.branch!r}"
        )
    into = session.settings.branch
    merges = [commit for commit in session.graph.commits(into, run=given.task) if len(commit.parents) > 1]
    if not merges or merges[0].actor not in (None, session.actor):
        raise _unknown(given.task)
    result = session.graph.revert(merges[0].id, branch=into, message=f"Undo task {given.task}")
    return Answer({"task": given.task, "status": "reverted"}, result.commit.id if result.commit is not None else None)


def _branch(session: Session, task: str) -> str:
    """The branch of an open task of the caller."""
    branch = task_branch(session.actor, task)
    if not is_ulid(task) or branch not in task_branches(session.graph, session.actor):
        raise _unknown(task)
    if session.clock() - task_time(branch) >= TASK_DAYS * DAY_MS:
        raise UsageError(f"task {task!r} has expired after {TASK_DAYS} days", hint="undo it and start another")
    return branch


def _unknown(task: str) -> NotFoundError:
    return NotFoundError(f"there is no open task {task!r}", hint="call start_task, and pass the id that it returns")


def _record(session: Session, branch: str, item: models.Entity) -> dict[str, Any]:
    catalog = session.graph.catalog(branch)
    type_ = type_named(all_types(catalog), item.type)
    data = dict(item.data)
    if item.id is not None:
        data["id"] = item.id
    if isinstance(type_, EdgeType):
        if item.source is None or item.target is None:
            raise UsageError(f"an edge {type_.name} needs `source` and `target`, the ids of its ends")
        ends = {"from": _node(item.source, item.source_type), "to": _node(item.target, item.target_type)}
        return {"edge": type_.name, **ends, "data": data}
    return {"type": type_.name, "data": data}


def _node(id_: str, type_name: str | None) -> str | dict[str, str]:
    return id_ if type_name is None else {"type": type_name, "id": id_}


def _deletion(session: Session, branch: str, places: list[models.Place]) -> tuple[str, dict[str, Any]]:
    """A mutation that deletes entities by id; ids are parameters and never part of its text."""
    catalog = session.graph.catalog(branch)
    every = all_types(catalog)
    statements = []
    params = {}
    for number, place in enumerate(places):
        type_ = type_named(every, place.type)
        statements.append(f"delete {type_.name} where id = $id{number}")
        params[f"id{number}"] = place.id
    declared = ", ".join(f"${name}: String" for name in params)
    return f"query write({declared}) {{ {' '.join(statements)} }}", params


def _previewed(session: Session, task: str, branch: str) -> Answer:
    preview = session.graph.merge_preview(branch, session.settings.branch)
    form = merge_preview_json(preview)
    conflicts = form["merge_conflicts"]
    kept = fit([shorten(item) for item in conflicts], CONFLICTS_TOKENS, CONFLICTS_MAX)
    content = {
        "task": task,
        "into": session.settings.branch,
        "outcome": form["outcome"],
        "tables": form["tables"],
        "conflicts": len(conflicts),
        "first_conflicts": kept.items,
    }
    cut = [f"{kept.left_out} more conflicts are not shown"] if kept.left_out else []
    return Answer(content, form["source_commit_id"], cut)
