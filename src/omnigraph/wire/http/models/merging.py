"""Bodies of diffs, merges and reverts: previews, resolutions, expected heads."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import ClosedRequest, Count, EntityKindOutput, Form
from omnigraph.wire.http.models.branches import MergedTableOutput
from omnigraph.wire.http.models.changes import EntityChangeOutput
from omnigraph.wire.http.models.commits import CommitOutput


class DiffStatsOutput(Form):
    """The number of changes of a diff."""

    inserts: Count
    updates: Count
    deletes: Count
    types_affected: Count


class DiffTableOutput(Form):
    """The number of changes of one type."""

    table_key: str
    inserted: Count
    updated: Count
    deleted: Count


class DiffOutput(Form):
    """The changes from one commit to another. ``truncated``: more follow; ask again with the next ``offset``."""

    from_: str | None = Field(None, alias="from")
    to: str
    stats: DiffStatsOutput
    tables: list[DiffTableOutput]
    changes: list[EntityChangeOutput] | None = None
    truncated: bool | None = None


class ResolutionInput(ClosedRequest):
    """An answer to all conflicts that match: exactly one of ``take``, ``value`` and ``expression``.

    ``take`` is ``source``, ``target``, ``base`` or ``delete``. ``expression`` computes a value from ``$base``,
    ``$source`` and ``$target``. A member that is left out matches everything.
    """

    type: str | None = None
    id: str | None = None
    property: str | None = None
    kind: str | None = None
    take: str | None = None
    value: Any = None
    expression: str | None = None


Policy = str | dict[str, str] | None
"""A merge policy for everything, or by ``Type``, ``Type.property`` and ``*``."""
Resolutions = Annotated[list[ResolutionInput], Field(default_factory=list, max_length=100_000)]


class MergePreviewRequest(ClosedRequest):
    """A merge of ``source`` into ``target``, by default ``main``. ``policy`` settles two changes of one property."""

    source: str
    target: str | None = None
    policy: Policy = None
    resolutions: Resolutions


class MergeRequest(MergePreviewRequest):
    """The same, with the heads that a preview showed: if a branch has moved, nothing is merged."""

    expected_source: str | None = None
    expected_target: str | None = None
    message: str | None = None
    delete_branch: bool = False


class ConflictOutput(Form):
    """A conflict with the values of base, source and target; null where the entity is absent."""

    table_key: str
    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | None = None
    kind: str
    property: str | None = None
    base: Any = None
    source: Any = None
    target: Any = None
    message: str


class MergePreviewOutput(Form):
    """The outcome of a merge of two heads. ``POST /merge`` with these heads makes exactly this merge."""

    format: str
    source: str
    target: str
    outcome: str
    base_commit_id: str | None = None
    source_commit_id: str
    target_commit_id: str
    engine: str
    tables: list[MergedTableOutput]
    merge_conflicts: list[ConflictOutput]
    policy: Policy = None
    resolutions: list[Any]


class RevertPreviewRequest(ClosedRequest):
    """Commits to undo: one, a range ``OLDER..NEWER``, or those of an actor, a run or a time; all must hold."""

    commits: str | None = None
    actor: str | None = None
    run: str | None = None
    since: str | None = None
    until: str | None = None
    branch: str | None = None
    policy: Policy = None
    resolutions: Resolutions


class RevertRequest(RevertPreviewRequest):
    """The same, with the head that a preview showed: if the branch has moved, nothing is undone."""

    expected_head: str | None = None
    message: str | None = None


class RevertPreviewOutput(Form):
    """The outcome of a revert. In its conflicts, source is the state before the commits, and target the head."""

    branch: str
    outcome: str
    head_commit_id: str
    reverted_commit_ids: list[str]
    tables: list[MergedTableOutput]
    merge_conflicts: list[ConflictOutput]


class RevertOutput(Form):
    """A revert that was made; ``commit`` is null if nothing of the commits was left."""

    branch: str
    outcome: str
    reverted_commit_ids: list[str]
    tables: list[MergedTableOutput]
    actor_id: str | None = None
    commit: CommitOutput | None = None
