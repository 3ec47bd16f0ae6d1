"""Bodies about query texts: explained, checked and completed, and SQL."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import ClosedRequest, Count, Form


class ExplainRequest(ClosedRequest):
    """A query or mutation to explain. Nothing is run."""

    query: str
    name: str | None = None
    branch: str | None = None
    snapshot: str | None = None


class NamedTypeOutput(Form):
    """A parameter and its type."""

    name: str
    type: str


class OperatorOutput(Form):
    """An operator of a plan; rows flow from its inputs."""

    operator: str
    description: str
    inputs: list[OperatorOutput]


class StatementOutput(Form):
    """A statement of a mutation."""

    operator: str
    type_name: str


class IndexShareOutput(Form):
    """An index, and the share of rows that it covers."""

    index: str
    coverage: float


class PlanTableOutput(Form):
    """A table that a plan reads or writes."""

    table: str
    rows: Count
    deleted_rows: Count
    fragments: Count
    indexes: list[IndexShareOutput]
    traversal: str | None = None


class ExplainOutput(Form):
    """The plan of a read, or the statements of a mutation."""

    name: str
    kind: str
    parameters: list[NamedTypeOutput]
    columns: list[str] | None = None
    plan: OperatorOutput | None = None
    statements: list[StatementOutput] | None = None
    text: str
    tables: list[PlanTableOutput]


class CheckRequest(ClosedRequest):
    """A text of queries to check. ``position``, in characters from 0, also asks for completions there.

    ``parameters`` are names that completions may offer without a declaration.
    """

    query: str
    position: Annotated[int, Field(ge=0)] | None = None
    parameters: list[str] = Field(default_factory=list, max_length=1_000)
    branch: str | None = None
    snapshot: str | None = None


class RangeInTextOutput(Form):
    """A half-open range of characters, from 0."""

    start: Count
    end: Count


class LocatedDiagnosticOutput(Form):
    """A located message. Lines and columns count characters from 1; ``span`` counts bytes, ``range`` characters."""

    code: str
    severity: str
    message: str
    source: str
    line: Count
    column: Count
    span: RangeInTextOutput
    range: RangeInTextOutput
    hint: str | None = None


class TextFindingOutput(Form):
    """A remark about the text as a whole."""

    severity: str
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: list[str] | None = None


class CheckedQueryOutput(Form):
    """A query of the text. ``operation`` has its columns and the types it reads and writes; only a valid one has it."""

    name: str
    kind: str
    warnings: list[str]
    operation: Any = None


class CandidateOutput(Form):
    """A text that may stand at the position."""

    text: str
    kind: str
    detail: str


class CompletionOutput(Form):
    """Each candidate replaces the text from ``start`` to the position."""

    start: Count
    candidates: list[CandidateOutput]


class CheckOutput(Form):
    """The findings about a text. ``status`` is ``ok`` or ``error``."""

    status: str
    diagnostics: list[LocatedDiagnosticOutput]
    findings: list[TextFindingOutput]
    queries: list[CheckedQueryOutput]
    completion: CompletionOutput | None = None


class SqlRequest(ClosedRequest):
    """One SQL ``SELECT`` over the tables of a branch or commit.

    ``params`` is a list of values for ``?``, or an object for ``$name``.
    """

    sql: str
    params: list[Any] | dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
