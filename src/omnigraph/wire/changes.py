"""Differences between commits as JSON: single changes, diffs, and pages of the change feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.history.changes import Op

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit
    from omnigraph.engine.history.commit_changes import ChangeBlock, CommitChanges
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage
    from omnigraph.history.changes import Change


def change_json(change: Change) -> dict[str, Any]:
    """One change of one entity. An insert has no ``before``, a delete no ``after``; only updates list ``changed``."""
    form: dict[str, Any] = {
        "kind": change.kind,
        "type": {"id": change.type_id, "name": change.type_name},
        "id": change.id,
        "op": change.op.value,
    }
    if change.before is not None:
        form["before"] = change.before.to_json()
    if change.after is not None:
        form["after"] = change.after.to_json()
    if change.op is Op.UPDATE:
        form["changed"] = list(change.changed)
    return form


def block_json(block: ChangeBlock) -> dict[str, Any]:
    """The changes of one commit, with the commit that caused them."""
    return {"cause": cause_json(block.commit), "changes": [change_json(change) for change in block.changes]}


def cause_json(commit: GraphCommit) -> dict[str, Any]:
    """The commit that made some changes. Members without a value are left out, as clients of Omnigraph 0.10 expect."""
    cause = {
        "graph_commit_id": commit.id,
        "parent_commit_id": commit.parents[0] if commit.parents else None,
        "merged_parent_commit_id": commit.parents[1] if len(commit.parents) > 1 else None,
        "authored_branch": commit.branch,
        "actor_id": commit.actor,
        "authored_at": commit.created_at_us,
        "kind": commit.kind.value,
        "message": commit.message,
    }
    return {name: value for name, value in cause.items() if value is not None}


def commit_changes_json(page: CommitChanges) -> dict[str, Any]:
    """A page of one commit's changes; the last page has no ``next_page_token``."""
    token = {} if page.next_page_token is None else {"next_page_token": page.next_page_token}
    return {**block_json(page.block), **token}


def change_page_json(page: ChangePage) -> dict[str, Any]:
    """A page of the change feed."""
    return {"blocks": [block_json(block) for block in page.blocks], **resume_json(page)}


def resume_json(page: ChangePage) -> dict[str, Any]:
    """The members that lead to the next page.

    A page that ends within a commit has a page token instead of a cursor, so that no client stores a position between
    two changes of one commit.
    """
    if page.is_partial:
        return {"next_page_token": page.cursor}
    return {"cursor": page.cursor, "caught_up": page.caught_up}


def baseline_json(baseline: ChangeBaseline) -> dict[str, Any]:
    """The commit that a baseline was read at, and the cursor that resumes from it."""
    return {"baseline": {"snapshot_commit_id": baseline.snapshot.commit_id, "resume_cursor": baseline.cursor}}


def written_baseline_json(uri: str, out: str, entities: int, baseline: ChangeBaseline) -> dict[str, Any]:
    """A baseline that was written to the file ``out``."""
    return {"uri": uri, "out": out, "entities": entities, **baseline_json(baseline)}


def diff_json(diff: Diff, limit: int | None = None, *, offset: int = 0, summary: bool = False) -> dict[str, Any]:
    """A diff: counts, and unless ``summary`` is set the changes, at most ``limit`` of them after the ``offset``."""
    total = diff.total
    form: dict[str, Any] = {
        "from": None if diff.before is None else diff.before.commit_id,
        "to": diff.after.commit_id,
        "stats": {
            "inserts": total.inserted,
            "updates": total.updated,
            "deletes": total.deleted,
            "types_affected": len(diff.tables),
        },
        "tables": [
            {
                "table_key": key,
                "inserted": counts.inserted,
                "updated": counts.updated,
                "deleted": counts.deleted,
            }
            for key, counts in diff.counts.items()
        ],
    }
    if not summary:
        form["changes"] = [change_json(change) for change in diff.changes(limit, offset=offset)]
        form["truncated"] = limit is not None and offset + limit < total.total
    return form
