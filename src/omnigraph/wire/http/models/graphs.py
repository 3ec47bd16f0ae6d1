"""Bodies about the server, its graphs, their tables and their schemas."""

from __future__ import annotations

from typing import Any

from omnigraph.wire.http.models.base import Count, Count32, Count64, EntityKindOutput, Form, Request, WireEnum, added
from omnigraph.wire.http.models.commits import CommitOutput


class HealthOutput(Form):
    """The version of the server and of the storage format."""

    status: str
    version: str
    internal_schema_version: Count32
    source_version: str | None = None


class GraphInfo(Form):
    """A graph and its address."""

    graph_id: str
    uri: str


class GraphListResponse(Form):
    """The graphs of the server, sorted."""

    graphs: list[GraphInfo]


class SnapshotDatasetOutput(Form):
    """A table of a branch."""

    entity_kind: EntityKindOutput
    type_name: str
    dataset_path: str
    published_dataset_version: Count64
    native_dataset_branch: str | None = None
    entity_count: Count64


class SnapshotOutput(Form):
    """The tables of a branch at its head, edges first."""

    graph_branch: str
    graph_manifest_version: Count64
    internal_schema_version: Count32
    datasets: list[SnapshotDatasetOutput]
    graph_commit_id: str = added()


class SchemaOutput(Form):
    """The text of a schema."""

    schema_source: str


class SchemaApplyRequest(Request):
    """A schema text to migrate to."""

    schema_source: str
    allow_data_loss: bool = False


class SchemaApplyOutput(Form):
    """The steps of a migration. ``applied`` is false if the graph had this schema already."""

    uri: str
    supported: bool
    applied: bool
    step_count: Count
    graph_manifest_version: Count64
    steps: list[Any]
    branch: str = added()
    commit: CommitOutput | None = added()


class BlobEntityKind(WireEnum):
    """Kind of the entity that has a blob."""

    NODE = "node"
    EDGE = "edge"
