"""Writing tools: a branch for each task, typed writes on it, and a merge or a review at the end.

The branch is the whole state of a task, so any process can continue it: ``agent/<actor>/<task>``, whose last part is
a ULID and holds the time of its start. Every commit of a task names it as its ``run``, which is what ``undo_task``
reverts. The calls of one task take turns (`turns`): clients send several at a time, and repeat calls whose answer was
lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.core.commit import GraphCommit
from omnigraph.core.ids import encode_ulid, is_ulid
from omnigraph.errors import ConflictError, MergeConflicts, NotFoundError, PolicyDenied, UsageError
from omnigraph.history.reverts import reverted_by
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.branch_names import task_branch, task_branches, task_time
from omnigraph.mcp.budget import fit, shorten, squeeze
from omnigraph.mcp.reading import fit_rows
from omnigraph.mcp.session import Session
from omnigraph.mcp.turns import turn
from omnigraph.schema.catalog import EdgeType, all_types, type_named
from omnigraph.wire.merges import merge_preview_json
from omnigraph.wire.writes import load_json, mutation_json
from omnigraph.write.merge.decide import MergeOutcome

TASK_DAYS: Final = 7
DAY_MS: Final = 86_400_000
ANY_TASK: Final = "0" * 26
"""The id of no task, for questions about the rights on the branch of a task that is not started."""
CONFLICTS_MAX: Final = 20
CONFLICTS_TOKENS: Final = 2_000
TABLES_TOKENS: Final = 1_000
WRITTEN_TOKENS: Final = 2_000


def needs(session: Session) -> tuple[Need, ...]:
    """The rights that an actor needs to work in tasks: to list branches, and to make and write one of its own."""
    into, branch = session.settings.branch, task_branch(session.actor, ANY_TASK)
    return (
        Need(Action.READ),
        Need(Action.READ, into),
        Need(Action.READ, branch),
        Need(Action.BRANCH_CREATE, into, branch),
        Need(Action.CHANGE, branch),
    )


def drop_need(session: Session, task: str) -> Need:
    """The right to delete the branch of a task."""
    return Need(Action.BRANCH_DELETE, target_branch=task_branch(session.actor, task))


def start_task(session: Session, given: models.StartTask) -> Answer:
    """Fork a branch for a task."""
    mine = task_branches(session.graph, session.actor)
    now = session.clock()
    running = [name for name in mine if now - task_time(name) < TASK_DAYS * DAY_MS]
    if len(running) >= session.settings.open_tasks_max:
        running = [name for name in running if not _was_merged_by_a_person(session, name)]
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
    if not given.upserts and not given.deletes:
        raise UsageError("nothing to write", hint="pass `upserts` or `deletes`")
    with _open_task(session, given.task) as branch:
        return _written(session, given, branch)


def _written(session: Session, given: models.Write, branch: str) -> Answer:
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
    return Answer(squeeze(shorten(content), WRITTEN_TOKENS), commit)


def mutate(session: Session, given: models.Mutate) -> Answer:
    """Run a mutation on the branch of a task."""
    with _open_task(session, given.task) as branch:
        result = session.graph.mutate(
            given.text,
            given.params,
            name=given.name,
            branch=branch,
            message=given.message,
            provenance={"run": given.task},
        )
    form = mutation_json(result)
    rows = form.pop("rows", None)
    content = {"task": given.task, **squeeze(shorten(form), WRITTEN_TOKENS)}
    cut: list[str] = []
    if rows is not None:
        content["rows"], cut = fit_rows(rows)
        if len(content["rows"]) < len(rows):
            cut.append(f"{len(content['rows'])} of {len(rows)} returned rows are shown; read the others with query")
    return Answer(content, result.commit.id if result.commit else None, cut)


def preview_merge(session: Session, given: models.Task) -> Answer:
    """Preview the merge of a task: counts and conflicts."""
    branch = _branch(session, given.task)
    return _previewed(session, given.task, branch)


def finish_task(session: Session, given: models.FinishTask) -> Answer:
    """Merge the task where that is allowed; otherwise leave it for a person to review."""
    into = session.settings.branch
    with turn(session, given.task):
        try:
            branch = _branch(session, given.task)
        except NotFoundError:
            earlier = _merge_of(session, given.task)
            if earlier is None:
                raise
            # The answer to an earlier call was lost.
            return Answer({"task": given.task, "status": "merged", "into": into}, earlier.id)
        if not session.settings.allow_main or not session.may(
            Need(Action.BRANCH_MERGE, branch, into), drop_need(session, given.task)
        ):
            preview = _previewed(session, given.task, branch)
            if preview.content["conflicts"]:
                return _with_status(preview, "conflicts")
            return _with_status(preview, "review", review={"source": branch, "into": into})
        try:
            merged = session.graph.merge(branch, into, message=given.message, provenance={"run": given.task})
        except MergeConflicts:
            return _with_status(_previewed(session, given.task, branch), "conflicts")
        _drop(session, branch)
        commit = merged.commit.id if merged.commit is not None else None
        return Answer({"task": given.task, "status": "merged", "into": into}, commit)


def undo_task(session: Session, given: models.Task) -> Answer:
    """Drop the branch of a task, or revert its merge."""
    into = session.settings.branch
    with turn(session, given.task):
        branch = task_branch(session.actor, given.task)
        is_open = branch in task_branches(session.graph, session.actor)
        if is_open and not _is_merged(session, given.task, branch):
            _drop(session, branch)
            return Answer({"task": given.task, "status": "dropped"})
        merge = _merge_of(session, given.task)
        if merge is None and not is_open:
            raise _unknown(given.task)
        if merge is None:
            raise PolicyDenied(f"task {given.task!r} was merged by another actor", hint="ask for a revert of its merge")
        if not session.settings.allow_main:
            raise PolicyDenied(f"task {given.task!r} has been merged, and this server does not write to {into!r}")
        result = session.graph.revert(merge.id, branch=into, message=f"Undo task {given.task}")
        if is_open:
            _drop(session, branch)
        commit = result.commit.id if result.commit is not None else None
        return Answer({"task": given.task, "status": "reverted"}, commit)


@contextmanager
def _open_task(session: Session, task: str) -> Iterator[str]:
    """The branch of an open task of the caller, for one call at a time."""
    with turn(session, task):
        yield _branch(session, task)


def _is_merged(session: Session, task: str, branch: str) -> bool:
    """True if the branch of a task was merged and not dropped: its server ended between the two."""
    try:
        preview = session.graph.merge_preview(branch, session.settings.branch)
    except ConflictError:
        return False
    if preview.outcome is not MergeOutcome.ALREADY_UP_TO_DATE:
        return False
    # A task that has written nothing is up to date as well, at a commit that is not its own.
    return session.graph.commit(preview.source_head).provenance.get("run") == task


def _was_merged_by_a_person(session: Session, branch: str) -> bool:
    """True for a task whose review ended in a merge. Its branch is dropped: its actor has nothing left to do there."""
    task = branch.rpartition("/")[2]
    with turn(session, task):
        if not _is_merged(session, task, branch):
            return False
        if session.may(drop_need(session, task)):
            _drop(session, branch)
    return True


def _merge_of(session: Session, task: str) -> GraphCommit | None:
    """The merge of a task of the caller; None if there is none, or if it was undone."""
    if not is_ulid(task):
        return None
    undone: set[str] = set()
    for commit in session.graph.commits(session.settings.branch):
        undone.update(reverted_by(commit))
        if commit.provenance.get("run") == task and len(commit.parents) > 1:
            return commit if commit.id not in undone and commit.actor in (None, session.actor) else None
    return None


def _drop(session: Session, branch: str) -> None:
    """Delete the branch of a task. Another process may have done so."""
    with suppress(NotFoundError):
        session.graph.delete_branch(branch)


def _with_status(preview: Answer, status: str, **members: Any) -> Answer:
    return Answer({**preview.content, "status": status, **members}, preview.commit, preview.truncated)


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
    tables = fit(form["tables"], TABLES_TOKENS)
    content = {
        "task": task,
        "into": session.settings.branch,
        "outcome": form["outcome"],
        "tables": tables.items,
        "conflicts": len(conflicts),
        "first_conflicts": kept.items,
    }
    cut = [f"{kept.left_out} more conflicts are not shown"] if kept.left_out else []
    if tables.left_out:
        cut.append(f"{tables.left_out} more types changed; diff counts them")
    return Answer(content, form["source_commit_id"], cut)
