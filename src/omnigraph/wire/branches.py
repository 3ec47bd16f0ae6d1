"""Branches as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.wire.maintenance import damaged_json

if TYPE_CHECKING:
    from omnigraph.engine.results import BranchInfo, BranchList, BranchLoss


def branch_json(branch: BranchInfo) -> dict[str, Any]:
    """A branch and its head; the numbers of commits if it was compared with another branch."""
    compared = {} if branch.ahead is None else {"ahead": branch.ahead, "behind": branch.behind}
    return {
        "name": branch.name,
        "head": branch.head,
        "created_at": branch.created_at_us,
        "parent_commit": branch.parent_commit,
        "actor_id": branch.actor,
        **compared,
    }


def branches_json(branches: BranchList) -> dict[str, Any]:
    """All branches by name, and those whose files cannot be read."""
    by_name = sorted(branches, key=lambda branch: branch.name)
    return {
        "branches": [branch.name for branch in by_name],
        "details": [branch_json(branch) for branch in by_name],
        "damaged": [damaged_json(item) for item in branches.damaged],
    }


def branch_names_json(branches: BranchList) -> dict[str, Any]:
    """The names of all branches and their heads; a server does not show the files of damaged ones."""
    return {name: value for name, value in branches_json(branches).items() if name != "damaged"}


def created_branch_json(uri: str, start: str, branch: BranchInfo) -> dict[str, Any]:
    """A new branch; ``start`` is the branch or commit it was created from."""
    return {"uri": uri, "from": start, **branch_json(branch)}


def branch_loss_json(loss: BranchLoss) -> dict[str, Any]:
    """The dry run of a deletion: the commits that only this branch has."""
    return {"name": loss.name, "dry_run": True, "head": loss.head, "lost_commit_ids": list(loss.commits)}


def deleted_branch_json(uri: str, name: str, actor: str | None) -> dict[str, Any]:
    """A branch that was deleted."""
    return {"uri": uri, "name": name, "actor_id": actor}


def renamed_branch_json(uri: str, old_name: str, name: str, actor: str | None) -> dict[str, Any]:
    """A branch that was renamed."""
    return {"uri": uri, "old_name": old_name, "name": name, "actor_id": actor}
