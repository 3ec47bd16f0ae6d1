"""Bodies about branches."""

from __future__ import annotations

from pydantic import Field

from omnigraph.wire.http.models.base import Count, Form, Int64, Request, WireEnum, added
from omnigraph.wire.http.models.commits import CommitOutput


class BranchOutput(Form):
    """A branch and its head. ``ahead`` and ``behind`` are present if ``against`` names a branch to compare with."""

    name: str
    head: str
    created_at: Int64
    parent_commit: str | None = None
    actor_id: str | None = None
    ahead: Count | None = None
    behind: Count | None = None


class BranchListOutput(Form):
    """The names of all branches, sorted."""

    branches: list[str]
    details: list[BranchOutput] = added()


class BranchCreateRequest(Request):
    """A new branch at the head of ``from``, by default ``main``."""

    name: str
    from_: str | None = Field(None, alias="from")


class BranchCreateOutput(Form):
    """A branch that was created."""

    uri: str
    from_: str = Field(alias="from")
    name: str
    actor_id: str | None = None
    head: str = added()
    created_at: Int64 = added()
    parent_commit: str | None = added()


class BranchDeleteOutput(Form):
    """A branch that was deleted."""

    uri: str
    name: str
    actor_id: str | None = None


class BranchMergeRequest(Request):
    """A merge of ``source`` into ``target``, by default ``main``; ``delete_branch`` deletes the source afterwards."""

    source: str
    target: str | None = None
    delete_branch: bool = False


class BranchMergeOutcome(WireEnum):
    """Outcome of a merge."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


class MergedTableOutput(Form):
    """The number of entities of one table that a merge or revert changes."""

    table_key: str
    inserted: Count
    updated: Count
    deleted: Count
    adopted: bool
    conflicts: Count


class BranchMergeOutput(Form):
    """A merge. ``branch_deleted`` is present if the deletion of the source was requested; it never fails the merge."""

    source: str
    target: str
    outcome: BranchMergeOutcome
    actor_id: str | None = None
    branch_deleted: bool | None = None
    branch_delete_error: str | None = None
    base_commit_id: str | None = added()
    source_commit_id: str = added()
    tables: list[MergedTableOutput] = added()
    engine: str = added()
    commit: CommitOutput | None = added()
