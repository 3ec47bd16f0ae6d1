"""Query IR: a tree of operators over rows of bound variables, run by both executors.

A row binds variables to entities. Leaves produce rows (``Scan``, ``Outer``); inner operators extend, drop, sort or
shape them. ``columns`` are the properties an operator must make readable; ids are always readable.
"""

from __future__ import annotations

from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.query.expressions import ConstantValue, Expr, Ranking
from omnigraph.schema.ir import Pair
from omnigraph.schema.types import PropertyType


class Direction(Enum):
    """Traversal direction relative to the stored edge, seen from the semantic source."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    @property
    def reversed(self) -> Direction:
        return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(self, self)


@dataclass(frozen=True, slots=True)
class HopRange:
    """Inclusive bounds of the shortest distance; empty if ``high`` is below ``low``."""

    low: int
    high: int


ONE_HOP = HopRange(1, 1)


@dataclass(frozen=True, slots=True)
class VisibleEdges:
    """Predicates that the edges of a walk and the nodes at their ends, by type, satisfy; they read ``OWNER``."""

    edge: Expr
    nodes: tuple[tuple[str, Expr], ...]

    def node(self, type_name: str) -> Expr:
        """The predicate of the nodes of a type; the edge type must have it at an end."""
        return next(predicate for name, predicate in self.nodes if name == type_name)


@dataclass(frozen=True, slots=True)
class Scan:
    """Every node of a type that satisfies the predicate."""

    variable: str
    type_name: str
    predicate: Expr | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outer:
    """The rows of the enclosing block, reduced to the variables the inner block mentions."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """Traversal of an edge from a bound variable.

    Reachability is defined from ``source`` to ``target`` in ``direction``; ``from_target`` says that the target is the
    end that is bound. With ``closes`` both ends are bound and the operator only filters rows. Without ``edge_variable``
    the result is a set of (source, target) pairs, with it one row per stored edge. With ``visible`` no other edges
    exist: no hop may lead over one. ``pair`` are the types of both ends if the table has a column for types.
    """

    input: Operator
    source: str
    target: str
    edge: str
    direction: Direction
    hops: HopRange
    new_type: str
    edge_variable: str | None = None
    from_target: bool = False
    closes: bool = False
    predicate: Expr | None = None
    edge_predicate: Expr | None = None
    columns: tuple[str, ...] = ()
    edge_columns: tuple[str, ...] = ()
    visible: VisibleEdges | None = None
    pair: Pair | None = None

    @property
    def new_variable(self) -> str:
        return self.source if self.from_target else self.target


@dataclass(frozen=True, slots=True)
class ShortestPath:
    """Keeps rows whose two bound nodes are connected within the bounds, and binds a shortest path, or each in turn."""

    input: Operator
    source: str
    target: str
    edge: str
    direction: Direction
    hops: HopRange
    path_variable: str
    wants_nodes: bool = False
    visible: VisibleEdges | None = None
    pair: Pair | None = None
    every: bool = False
    """One row for each shortest path; paths differ in their nodes."""


@dataclass(frozen=True, slots=True)
class CrossJoin:
    """Cartesian product of two unconnected patterns."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps rows for which the predicate is true."""

    input: Operator
    predicate: Expr


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """Drops a row if the inner block has a match for it. The inner block's leaf is an ``Outer``."""

    input: Operator
    inner: Operator


@dataclass(frozen=True, slots=True)
class Mark:
    """Computes for every row whether the inner block has a match for it, as a value of ``variable``."""

    input: Operator
    inner: Operator
    variable: str


@dataclass(frozen=True, slots=True)
class OptionalJoin:
    """One row per match of the inner block, or one row with its variables null if there is none."""

    input: Operator
    inner: Operator
    introduces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Computes rankings as numbered score columns; a ``required`` one drops the rows it has no score for."""

    input: Operator
    rankings: tuple[Ranking, ...]
    required: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result; with ``field`` one field of a column that holds entities."""

    name: str
    expression: Expr
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of projections with the same columns, one after the other. Operators above read them by ``Output``."""

    inputs: tuple[Operator, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Groups by every column that is not an aggregate; with no such column there is exactly one group."""

    input: Operator
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """Computes the result's columns."""

    input: Operator
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Deduplicates rows."""

    input: Operator


@dataclass(frozen=True, slots=True)
class StageEntity:
    """A node or edge of a former stage: the column with its id, and what is read of it.

    With ``type_position`` the column holds entities of several types, and only rows with this type are kept.
    """

    variable: str
    is_edge: bool
    type_name: str
    position: int
    type_position: int | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageValue:
    """A column of a former stage as a value of a variable."""

    variable: str
    position: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The rows of a former stage as bound rows, a bag: its columns are entities again, or values of variables."""

    input: Operator
    columns: tuple[Column, ...]
    entities: tuple[StageEntity, ...]
    values: tuple[StageValue, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sort key. Null is smallest: first ascending, last descending."""

    expression: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """Sorts rows; the last keys make the order total."""

    input: Operator
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """Skips ``offset`` rows and keeps at most ``limit``. Binding replaces the parameters by their values."""

    input: Operator
    limit: int | None
    offset: int = 0
    limit_parameter: str | None = None
    offset_parameter: str | None = None


Operator = (
    Scan
    | Outer
    | Expand
    | ShortestPath
    | CrossJoin
    | Filter
    | AntiJoin
    | Mark
    | OptionalJoin
    | Score
    | Union
    | Group
    | Project
    | Distinct
    | Sort
    | Slice
    | Stage
)


@dataclass(frozen=True, slots=True)
class ParameterIR:
    """A declared parameter. ``fields`` are those of a list of records, whose own type has no meaning."""

    name: str
    type: PropertyType
    fields: tuple[ParameterIR, ...] = ()

    @property
    def spelled_type(self) -> str:
        """The type as it is written."""
        if not self.fields:
            return str(self.type)
        return f"[{{ {', '.join(f'{field.name}: {field.type}' for field in self.fields)} }}]"


@dataclass(frozen=True, slots=True)
class QueryIR:
    """A read."""

    name: str
    parameters: tuple[ParameterIR, ...]
    columns: tuple[Column, ...]
    root: Operator


@dataclass(frozen=True, slots=True)
class AssignmentIR:
    """A property and the value it gets; an expression reads the entity as ``TARGET``. ``type`` is the property's."""

    property: str
    value: Expr
    type: PropertyType


TARGET = ""
"""The variable of the entity in the expressions of its own statement; an edge has ``src`` and ``dst``."""


@dataclass(frozen=True, slots=True)
class InsertNode:
    """Inserts a node; with a key it replaces the node that has the same key.

    With ``keeps`` it is an upsert: properties that are not assigned keep their values.
    """

    type_name: str
    assignments: tuple[AssignmentIR, ...]
    keeps: bool = False
    returning: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """Inserts an edge between two node ids, with the types that it names at ends of several; ``keeps`` as for nodes."""

    type_name: str
    source: Expr
    target: Expr
    assignments: tuple[AssignmentIR, ...]
    keeps: bool = False
    returning: tuple[Column, ...] = ()
    source_type: Expr | None = None
    target_type: Expr | None = None


@dataclass(frozen=True, slots=True)
class UpdateNodes:
    """Sets properties of the nodes for which the predicate is true; ``bound`` is the id where a pattern chooses one."""

    type_name: str
    assignments: tuple[AssignmentIR, ...]
    predicate: Expr
    bound: Expr | None = None
    returning: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateEdges:
    """Sets properties of the edges for which the predicate is true; ``bound`` as for nodes."""

    type_name: str
    assignments: tuple[AssignmentIR, ...]
    predicate: Expr
    bound: Expr | None = None
    returning: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteNodes:
    """Deletes the nodes for which the predicate is true, and their edges; ``bound`` as for updates."""

    type_name: str
    predicate: Expr
    bound: Expr | None = None
    returning: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteEdges:
    """Deletes the edges for which the predicate is true; ``bound`` as for updates."""

    type_name: str
    predicate: Expr
    bound: Expr | None = None
    returning: tuple[Column, ...] = ()


EntityStatement = InsertNode | InsertEdge | UpdateNodes | UpdateEdges | DeleteNodes | DeleteEdges


@dataclass(frozen=True, slots=True)
class ForMatches:
    """Runs statements for the rows of a pattern. They read its columns as items by the names of the columns."""

    columns: tuple[Column, ...]
    root: Operator
    statements: tuple[EntityStatement, ...]


@dataclass(frozen=True, slots=True)
class ForRecords:
    """Runs statements for the records of a list parameter. They read the fields as items ``variable.field``."""

    variable: str
    parameter: str
    fields: tuple[ParameterIR, ...]
    statements: tuple[EntityStatement, ...]
    records: tuple[ConstantValue, ...] = ()
    """The fields of each record as a tuple, once the parameter is bound."""


StatementIR = EntityStatement | ForMatches | ForRecords


@dataclass(frozen=True, slots=True)
class MutationIR:
    """Statements that run in order and become one commit."""

    name: str
    parameters: tuple[ParameterIR, ...]
    statements: tuple[StatementIR, ...]

    @property
    def entity_statements(self) -> tuple[EntityStatement, ...]:
        """Every statement that writes entities, also those for the rows of a pattern or list."""
        found: list[EntityStatement] = []
        for statement in self.statements:
            found.extend(statement.statements if isinstance(statement, ForMatches | ForRecords) else (statement,))
        return tuple(found)

    @property
    def returning(self) -> tuple[Column, ...]:
        """The columns of the rows that the mutation returns; none if it returns nothing."""
        return next((item.returning for item in self.entity_statements if item.returning), ())
