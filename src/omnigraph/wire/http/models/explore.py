"""Bodies of screens that browse a graph: the catalog, entities, pages of them, neighbours, samples."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import ClosedRequest, Count, EntityKindOutput, Form, WireEnum
from omnigraph.wire.http.models.changes import ChangeCauseOutput, ChangeOpOutput


class AtOutput(Form):
    """The branch or commit that a request named, the other one is null; and the commit that was read."""

    branch: str | None = None
    snapshot: str | None = None
    graph_commit_id: str


class AnnotationOutput(Form):
    """An annotation of a type or property that the schema language does not define."""

    name: str
    value: str | None = None
    arguments: dict[str, str]


class EmbedOutput(Form):
    """The property that a vector is computed from, and the model."""

    source: str
    model: str | None = None


class PropertyOutput(Form):
    """A property. ``type`` is its type as a schema writes it, such as ``[String]?``; ``merge`` its merge policy."""

    name: str
    type: str
    scalar: str
    is_list: bool
    nullable: bool
    dimension: int | None = None
    enum_values: list[str] | None = None
    is_key: bool
    description: str | None = None
    merge: str | None = None
    embed: EmbedOutput | None = None
    interface: str | None = None
    annotations: list[AnnotationOutput]


class RangeOutput(Form):
    """Inclusive bounds of a number."""

    property: str
    low: float | None = None
    high: float | None = None


class PatternOutput(Form):
    """A pattern that a text must match."""

    property: str
    pattern: str


class CardinalityOutput(Form):
    """The number of edges of a type that leave one node; no upper bound is null."""

    min: Count
    max: int | None = None


class ExternalOutput(Form):
    """The table outside the graph that holds the rows of a type; ``format`` is null if the table itself shows it."""

    address: str
    format: str | None = None


class TypeOutput(Form):
    """A type, with its number of entities. ``key`` names the columns that ids are made from.

    A type with ``external`` is read-only: its rows are in that table.
    """

    kind: EntityKindOutput
    name: str
    count: Count
    description: str | None = None
    instruction: str | None = None
    key: list[str]
    unique: list[list[str]]
    indexes: list[list[str]]
    annotations: list[AnnotationOutput]
    external: ExternalOutput | None = None
    properties: list[PropertyOutput]


class NodeTypeOutput(TypeOutput):
    """A node type. ``caption`` is the column that names its nodes in lists and pictures."""

    implements: list[str]
    caption: str | None = None
    ranges: list[RangeOutput]
    checks: list[PatternOutput]


class EndsOutput(Form):
    """The names of two node types that edges connect."""

    source: str
    target: str


class EdgeTypeOutput(TypeOutput):
    """An edge type, with the types of its ends, several divided by ``|``; ``ends`` lists the pairs that it connects."""

    source: str
    target: str
    ends: list[EndsOutput]
    cardinality: CardinalityOutput


class CatalogOutput(AtOutput):
    """The types of a graph. Properties are in the order of the schema text."""

    nodes: list[NodeTypeOutput]
    edges: list[EdgeTypeOutput]


class EntityRefOutput(Form):
    """A node by its type and id."""

    type: str
    id: str


class SetByOutput(ChangeCauseOutput):
    """The commit that set a value."""

    message: str | None = None


class PropertyHistoryOutput(Form):
    """The commit that set each property to its value. A walk that ended early is not ``complete``."""

    properties: dict[str, SetByOutput]
    created: SetByOutput | None = None
    complete: bool


class EntityOutput(AtOutput):
    """An entity with all of its properties. A blob is an object with its ``size``; ``GET /blob`` reads it."""

    kind: EntityKindOutput
    type: str
    id: str
    source: EntityRefOutput | None = None
    target: EntityRefOutput | None = None
    properties: dict[str, Any]
    history: PropertyHistoryOutput | None = None


class ValueChangeOutput(Form):
    """A property with its values before and after a commit."""

    property: str
    before: Any = None
    after: Any = None


class EntityStepOutput(Form):
    """A commit that inserted or updated an entity."""

    cause: SetByOutput
    op: ChangeOpOutput
    changes: list[ValueChangeOutput]


class EntityHistoryOutput(AtOutput):
    """The commits that changed an entity, newest first. A merge is one step. Blobs are left out."""

    kind: EntityKindOutput
    type: str
    id: str
    commits: list[EntityStepOutput]
    complete: bool


class ComparisonInput(WireEnum):
    """Operator of a condition."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"
    IS_NOT_NULL = "is_not_null"


class ConditionInput(ClosedRequest):
    """A test of one column: ``id``, for edges ``src`` and ``dst``, or a property.

    ``in`` takes a list. ``contains`` looks for a part of a text, or for an item of a list.
    """

    column: str
    op: Annotated[ComparisonInput, Field(strict=False)]
    value: Any = None


class EntityListRequest(ClosedRequest):
    """A page of the entities of one type. All conditions must hold. Null is smallest; equal values are by id."""

    kind: Annotated[EntityKindOutput, Field(strict=False)] = EntityKindOutput.NODE
    type: str
    where: list[ConditionInput] = Field(default_factory=list, max_length=100)
    columns: list[str] | None = None
    sort: str = "id"
    descending: bool = False
    limit: Annotated[int, Field(ge=0, le=1000)] = 50
    offset: Annotated[int, Field(ge=0, le=100_000)] = 0
    branch: str | None = None
    snapshot: str | None = None


class EntityListOutput(AtOutput):
    """A page. ``total`` counts all entities that the conditions keep. Blobs and vectors are left out of ``rows``."""

    kind: EntityKindOutput
    type: str
    total: Count
    columns: list[str]
    rows: list[dict[str, Any]]


class DirectionInput(WireEnum):
    """Direction of edges, seen from the nodes of the request."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class NeighboursRequest(ClosedRequest):
    """Nodes by type and id. ``limit`` bounds the edges of each type and direction; no ``edges`` are all types."""

    nodes: dict[str, list[str]]
    edges: list[str] | None = None
    direction: Annotated[DirectionInput, Field(strict=False)] = DirectionInput.BOTH
    limit: Annotated[int, Field(ge=0, le=1000)] = 50
    branch: str | None = None
    snapshot: str | None = None


class NodeFoundOutput(EntityRefOutput):
    """A node, with the text that names it. Blobs and vectors are left out."""

    caption: str
    properties: dict[str, Any]


class EdgeFoundOutput(Form):
    """An edge between two nodes."""

    type: str
    id: str
    source: EntityRefOutput
    target: EntityRefOutput
    properties: dict[str, Any]


class EdgeTotalOutput(Form):
    """The number of edges of one type in one direction, and of those in the answer."""

    type: str
    direction: str
    total: Count
    shown: Count


class NeighboursOutput(AtOutput):
    """The nodes of the request and their neighbours, each once, with the edges between the two."""

    nodes: list[NodeFoundOutput]
    edges: list[EdgeFoundOutput]
    totals: list[EdgeTotalOutput]


class SampleNodeOutput(EntityRefOutput):
    """A node at its place. Edges are about one unit long; the middle is the origin."""

    caption: str
    x: float
    y: float


class SampleEdgeOutput(Form):
    """An edge. The ends are places in the list of nodes."""

    type: str
    id: str | None = None
    source: Count
    target: Count


class SampleOutput(AtOutput):
    """The nodes with most edges, the edges between them, and how many there are of both."""

    nodes_total: Count
    edges_total: Count
    nodes: list[SampleNodeOutput]
    edges: list[SampleEdgeOutput]


class ChangeNodeOutput(SampleNodeOutput):
    """A node of a change. ``sign`` is ``+``, ``~`` or ``-``, and empty for an unchanged neighbour.

    ``facts`` are its values as texts, those of an update before and after. ``size`` is the radius of a type, else 0.
    """

    sign: str
    size: float
    facts: dict[str, str]


class ChangeEdgeOutput(SampleEdgeOutput):
    """An edge of a change. The ends are places in the list of nodes."""

    sign: str
    facts: dict[str, str]


class ChangePictureOutput(Form):
    """The changes from one commit to another as a picture, with one hop of unchanged neighbours.

    ``by_type``: there are more changes than the limit, so nodes and edges are types with their numbers of changes.
    """

    from_: str | None = Field(None, alias="from")
    to: str
    by_type: bool
    shown: str
    nodes: list[ChangeNodeOutput]
    edges: list[ChangeEdgeOutput]
