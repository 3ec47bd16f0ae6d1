"""Bodies of reads: ad-hoc queries, stored queries and their catalog."""

from __future__ import annotations

from typing import Any

from pydantic import Field, RootModel

from omnigraph.wire.http.models.base import Count, Count32, EntityKindOutput, Form, Request, WireEnum, added
from omnigraph.wire.http.models.mutations import ChangeOutput


class QueryRequest(Request):
    """A read at the head of a branch, or at a commit (``snapshot``)."""

    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None
    entities: bool = added(False)


class ReadRequest(Request):
    """The same with the names of earlier releases."""

    query_source: str
    query_name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None


class ReadTargetOutput(Form):
    """The branch or commit that a request named; the other one is null."""

    branch: str | None = None
    snapshot: str | None = None


class LegacyReadOutput(Form):
    """Rows of a query, without the commit that they were read at."""

    query_name: str
    target: ReadTargetOutput
    row_count: Count
    columns: list[str] = Field(default_factory=list)
    rows: Any


class RowVariableOutput(Form):
    """A variable of a query; of one with aggregates or ``distinct``, a column that holds ids."""

    name: str
    kind: EntityKindOutput
    type: str


class RowLinkOutput(Form):
    """An edge pattern between two variables, along the stored edges, or in either direction (``is_both``)."""

    source: str
    target: str
    type: str
    hops: list[Count]
    is_both: bool


class RowEntitiesOutput(Form):
    """The entities that rows came from. ``ids`` has a list for each row, in the order of ``variables``."""

    variables: list[RowVariableOutput]
    links: list[RowLinkOutput]
    ids: list[list[str | None]]


class ReadOutput(LegacyReadOutput):
    """Rows of a query, and the commit that they were read at. A row has its columns as members."""

    graph_commit_id: str | None = None
    entities: RowEntitiesOutput | None = added()


class ParamKind(WireEnum):
    """Kind of a parameter. Values of ``bigint``, ``date``, ``datetime`` and ``blob`` travel as texts."""

    STRING = "string"
    BOOL = "bool"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DATE = "date"
    DATETIME = "datetime"
    BLOB = "blob"
    VECTOR = "vector"
    LIST = "list"
    OBJECT = "object"

    @classmethod
    def added_values(cls) -> tuple[str, ...]:
        return (cls.OBJECT.value,)


class ParamDescriptor(Form):
    """A parameter of a stored query. A list of records has ``fields``."""

    name: str
    kind: ParamKind
    item_kind: ParamKind | None = None
    vector_dim: Count32 | None = None
    nullable: bool
    fields: list[ParamDescriptor] | None = added()


class QueryCatalogEntry(Form):
    """A stored query."""

    name: str
    tool_name: str
    description: str | None = None
    instruction: str | None = None
    mutation: bool
    params: list[ParamDescriptor]


class StoredQueryOutput(QueryCatalogEntry):
    """A stored query with its text, which may hold other queries too."""

    text: str


class QueriesCatalogOutput(Form):
    """The stored queries of a graph, by name."""

    queries: list[QueryCatalogEntry]


class InvokeStoredQueryRequest(Request):
    """Parameters and target of a stored query. ``expect_mutation`` refuses a query of the other kind."""

    params: Any = None
    branch: str | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None
    entities: bool = added(False)


class InvokeStoredQueryResponse(RootModel[ReadOutput | ChangeOutput]):
    """The answer of a stored read or of a stored mutation."""
