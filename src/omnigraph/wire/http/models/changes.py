"""Bodies of the change feed, of the changes of one commit, and of baselines and exports."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import (
    ADDITION,
    ClosedRequest,
    EntityKindOutput,
    Form,
    Int64,
    Request,
    WireEnum,
    added,
)


class ChangeOpOutput(WireEnum):
    """Operation on an entity."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class ChangeTypeOutput(Form):
    """A type. The id survives a rename; a type that is dropped and declared again gets another one."""

    id: str
    name: str


class ChangeEndOutput(Form):
    """A node at an end of edges that several types of nodes have."""

    type: str
    id: str


AddedNode = Annotated[ChangeEndOutput, Field(json_schema_extra={ADDITION: True})]


class ChangeEndpointsOutput(Form):
    """The nodes that an edge connects: their ids, with their types where an end has several."""

    from_: str | AddedNode = Field(alias="from")
    to: str | AddedNode


class ChangeImageOutput(Form):
    """An entity in one state. Values have the encoding of exports."""

    properties: Any
    endpoints: ChangeEndpointsOutput | None = None


class EntityChangeOutput(Form):
    """One change of one entity. An insert has no ``before``, a delete no ``after``."""

    kind: EntityKindOutput
    type: ChangeTypeOutput
    id: str
    op: ChangeOpOutput
    before: ChangeImageOutput | None = None
    after: ChangeImageOutput | None = None
    changed: list[str] = added()


class ChangeCauseOutput(Form):
    """The commit that made some changes; ``authored_at`` is in microseconds since 1970."""

    graph_commit_id: str
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    authored_branch: str
    actor_id: str | None = None
    authored_at: Int64
    kind: str = added()
    message: str | None = added()


class ChangeBlockOutput(Form):
    """The changes of one commit, or a part of them."""

    cause: ChangeCauseOutput
    changes: list[EntityChangeOutput]


class CommitChangesOutput(ChangeBlockOutput):
    """A page of the changes of one commit; the last page has no token."""

    next_page_token: str | None = None


class ChangeFeedOutput(Form):
    """A page of the change feed. A page that ends within a commit has a page token instead of a cursor."""

    blocks: list[ChangeBlockOutput]
    next_page_token: str | None = None
    cursor: str | None = None
    caught_up: bool | None = None


class ChangeBaselineRequest(Request):
    """The branch and filter of a baseline; ``op`` applies to the cursor only."""

    branch: str | None = None
    kind: list[Annotated[EntityKindOutput, Field(strict=False)]] = Field(default_factory=list)
    type: list[str] = Field(default_factory=list)
    op: list[Annotated[ChangeOpOutput, Field(strict=False)]] = Field(default_factory=list)


class ChangeBaselineOutput(Form):
    """The commit that a baseline was read at, and the cursor from which the feed continues."""

    snapshot_commit_id: str
    resume_cursor: str


class ChangeBaselineRecord(Form):
    """The last line of a baseline."""

    baseline: ChangeBaselineOutput


class ExportRequest(ClosedRequest):
    """The branch to export, and the types; none are all of them."""

    branch: str | None = None
    type_names: list[str] = Field(default_factory=list)
