"""Bodies about commits."""

from __future__ import annotations

from omnigraph.wire.http.models.base import Count, Count64, Form, Int64, added


class CommitTableOutput(Form):
    """One table that a commit changed, with the number of entities per kind of change."""

    table_key: str
    table_version: int | None = None
    inserted: Count
    updated: Count
    deleted: Count


class CommitOutput(Form):
    """A commit; ``created_at`` is in microseconds since 1970. ``graph_branch`` is null for ``main``."""

    graph_commit_id: str
    graph_branch: str | None = None
    graph_manifest_version: Count64
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    actor_id: str | None = None
    created_at: Int64
    kind: str = added()
    message: str | None = added()
    idempotency_key: str | None = added()
    provenance: dict[str, str] = added()
    tables: list[CommitTableOutput] = added()


class CommitListOutput(Form):
    """Commits of a branch, newest first."""

    commits: list[CommitOutput]
