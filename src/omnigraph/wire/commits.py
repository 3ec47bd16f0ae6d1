"""Commits as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit


def commit_json(commit: GraphCommit) -> dict[str, Any]:
    """A commit: the members of Omnigraph 0.10 first, then kind, message, idempotency key, provenance and tables."""
    return {
        "graph_commit_id": commit.id,
        "graph_branch": None if commit.branch == "main" else commit.branch,
        "graph_manifest_version": commit.manifest.counter,
        "parent_commit_id": commit.parents[0] if commit.parents else None,
        "merged_parent_commit_id": commit.parents[1] if len(commit.parents) > 1 else None,
        "actor_id": commit.actor,
        "created_at": commit.created_at_us,
        "kind": commit.kind.value,
        "message": commit.message,
        "idempotency_key": commit.idempotency_key,
        "provenance": dict(commit.provenance),
        "tables": [
            {
                "table_key": change.key,
                "table_version": change.after[1] if change.after else None,
                "inserted": change.inserted,
                "updated": change.updated,
                "deleted": change.deleted,
            }
            for change in commit.tables
        ],
    }


def optional_commit_json(commit: GraphCommit | None) -> dict[str, Any] | None:
    """The commit of a write, or null if the write changed nothing."""
    return None if commit is None else commit_json(commit)


def commits_json(commits: Iterable[GraphCommit]) -> dict[str, Any]:
    """A list of commits, in the order given."""
    return {"commits": [commit_json(commit) for commit in commits]}
