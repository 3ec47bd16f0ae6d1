"""Bodies of loads."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from omnigraph.wire.http.models.base import Count, Form, Request, WireEnum, added
from omnigraph.wire.http.models.commits import CommitOutput


class LoadMode(WireEnum):
    """Treatment of existing entities: ``merge`` replaces them, ``append`` refuses, ``overwrite`` replaces the type.

    ``upsert`` sets the named properties only, and ``update`` also refuses entities that do not exist.
    """

    OVERWRITE = "overwrite"
    APPEND = "append"
    MERGE = "merge"
    UPSERT = "upsert"
    UPDATE = "update"

    @classmethod
    def added_values(cls) -> tuple[str, ...]:
        return ("upsert", "update")


class IngestRequest(Request):
    """JSON values one after the other, in a text. A missing branch is created from ``from``, if that is given."""

    data: str
    branch: str | None = None
    from_: str | None = Field(None, alias="from")
    # Strict validation would ask for the member of the enum instead of its word.
    mode: Annotated[LoadMode | None, Field(strict=False)] = None


class GraphBatchDeclarationOutput(Form):
    """The number of entities of one type in the input."""

    name: str
    entities_loaded: Count


class GraphBatchLoadOutput(Form):
    """A load that was committed."""

    branch: str
    base_branch: str | None = None
    branch_created: bool
    mode: LoadMode
    nodes: list[GraphBatchDeclarationOutput]
    edges: list[GraphBatchDeclarationOutput]
    total_entities: Count
    actor_id: str | None = None
    commit: CommitOutput | None = None
    inserted: Count = added()
    updated: Count = added()
    deleted: Count = added()
    unchanged: Count = added()
    cleared: Count = added()
    remarks: list[str] = added()
    rejected: Count = added()


class IngestOutput(GraphBatchLoadOutput):
    """A load that was committed, with the address of its graph."""

    uri: str
