"""Error bodies: the envelope of Omnigraph 0.10, its structured members, and our located ``problem``."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from omnigraph.wire.http.models.base import Count, Count64, EntityKindOutput, Form, WireEnum, added


class ErrorCode(WireEnum):
    """Coarse class of an error. The set is closed: conditions of later releases are distinguished by their member."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    TOO_MANY_REQUESTS = "too_many_requests"
    INTERNAL = "internal"


class BlobRangeOutput(Form):
    """A byte range outside a blob of ``length`` bytes."""

    start: Count64
    end: Count64
    length: Count64


class ChangeDiffRefusalReason(WireEnum):
    """Reason why changes of a commit cannot be computed."""

    PARENTLESS_COMMIT = "parentless_commit"
    SCHEMA_BOUNDARY = "schema_boundary"
    UNKNOWN = "unknown"


class ChangeDiffRefusalOutput(Form):
    """A commit whose changes cannot be computed."""

    reason: ChangeDiffRefusalReason
    graph_commit_id: str
    type_name: str | None = None


class ChangeFeedGapOutput(Form):
    """The first commit whose changes are no longer readable."""

    cursor: str | None = None
    first_unreadable_commit_id: str


class ExternalBlobSourceOutput(Form):
    """An external object that could not be read."""

    uri: str
    reason: str


class KeyConflictOutput(Form):
    """An id that exists already."""

    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | None = None


class MergeConflictKindOutput(WireEnum):
    """Reason of a merge conflict. ``delete_vs_update`` is either side's deletion; ``exact_kind`` tells which."""

    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"


class MergeConflictOutput(Form):
    """One conflict of a merge, with the values of its sides."""

    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | None = None
    kind: MergeConflictKindOutput
    message: str
    exact_kind: str = added()
    property: str | None = added()
    base: Any = added()
    source: Any = added()
    target: Any = added()


class PreconditionFailureOutput(Form):
    """The commit that the caller expected at the head of the branch, and the one that is there."""

    expected: str
    actual: str | None = None
    branch: str | None = added()


class PublishedDatasetVersionConflictOutput(Form):
    """A table that is at another version than expected."""

    entity_kind: EntityKindOutput
    type_name: str
    expected_published_dataset_version: Count64
    actual_published_dataset_version: Count64


class ReadSetConflictOutput(Form):
    """A part of the graph that a concurrent write changed."""

    member: str
    expected: str | None = None
    actual: str | None = None


class RecoveryRequiredOutput(Form):
    """A write whose outcome is unknown: look up the commit with the id ``operation_id``."""

    operation_id: str


class ResourceLimitOutput(Form):
    """A limit that a request exceeds."""

    resource: str
    limit: Count64
    actual: Count64


class SpanOutput(Form):
    """A range of bytes of a text."""

    start: Count
    end: Count


class DiagnosticOutput(Form):
    """A located message of the compiler. Lines and columns count characters from 1."""

    code: str
    severity: str
    message: str
    source: str
    line: Count
    column: Count
    span: SpanOutput
    hint: str | None = None


class ViolationOutput(Form):
    """An entity that violates the schema."""

    code: str
    message: str
    source: str | None = None
    line: int | None = None
    table_key: str | None = None
    id: str | None = None
    property: str | None = None


class ViolationsOutput(Form):
    """Entities that violate the schema: all of them counted, some of each kind shown."""

    total: Count
    counts: dict[str, Count]
    samples: list[ViolationOutput]


class SchemaClashOutput(Form):
    """A declaration that both sides of a merge changed differently."""

    type: str
    property: str | None = None
    what: str
    base: str | None = None
    source: str | None = None
    target: str | None = None


class ProblemOutput(Form):
    """Our own description of an error: a stable code, whether the same call may succeed later, and the next step."""

    code: str
    retryable: bool
    hint: str | None = None
    # A whole number is a number too: naming both would make it match two alternatives of `oneOf`, which allows one.
    facts: dict[str, str | float | bool | None] | None = None
    diagnostics: list[DiagnosticOutput] | None = None
    violations: ViolationsOutput | None = None
    schema_conflicts: list[SchemaClashOutput] | None = None
    request_id: str | None = None


class ErrorOutput(Form):
    """Body of an error."""

    error: str
    code: ErrorCode | None = None
    merge_conflicts: list[MergeConflictOutput] = Field(default_factory=list)
    key_conflict: KeyConflictOutput | None = None
    read_set_conflict: ReadSetConflictOutput | None = None
    published_dataset_version_conflict: PublishedDatasetVersionConflictOutput | None = None
    change_diff_refusal: ChangeDiffRefusalOutput | None = None
    change_feed_gap: ChangeFeedGapOutput | None = None
    precondition_failure: PreconditionFailureOutput | None = None
    resource_limit: ResourceLimitOutput | None = None
    blob_range: BlobRangeOutput | None = None
    external_blob_source: ExternalBlobSourceOutput | None = None
    recovery_required: RecoveryRequiredOutput | None = None
    problem: ProblemOutput | None = added()


class ChangeErrorOutput(Form):
    """Body of an error of the change routes."""

    error: str
    code: ErrorCode | None = None
    change_diff_refusal: ChangeDiffRefusalOutput | None = None
    change_feed_gap: ChangeFeedGapOutput | None = None
    resource_limit: ResourceLimitOutput | None = None
    recovery_required: RecoveryRequiredOutput | None = None
    problem: ProblemOutput | None = added()
