"""The syntax tree of a ``.gq`` file: queries, clauses, expressions, mutation statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from omnigraph.core.operators import AggregateFunction, BinaryOperator
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name, TypeRef


class LiteralKind(Enum):
    """The written form of a literal; it determines the type, independent of the Python value."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOL = "bool"
    DATE = "date"
    DATETIME = "datetime"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar literal; dates keep the text between the quotes."""

    kind: LiteralKind
    value: str | int | float | bool | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, b]``."""

    items: tuple[Expr, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name``; the name is kept without the dollar sign. ``_`` is the anonymous endpoint."""

    name: str
    span: Span = field(compare=False)

    @property
    def is_anonymous(self) -> bool:
        return self.name == "_"


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    """``$variable.property``."""

    variable: Variable
    property: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class AliasRef:
    """A bare name: refers to an ``as`` alias of the projections."""

    name: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is not an aggregate, such as ``now()`` or ``nearest(...)``."""

    function: str
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate, such as ``count(distinct $f)``."""

    function: AggregateFunction
    argument: Expr
    distinct: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """``left operator right``."""

    operator: BinaryOperator
    left: Expr
    right: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negate:
    """Unary minus on something that is not a number literal (those are folded into the literal)."""

    operand: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """``operand is null`` or, negated, ``operand is not null``."""

    operand: Expr
    negated: bool
    span: Span = field(compare=False)


Expr = Literal | ListLiteral | Variable | PropertyAccess | AliasRef | Call | Aggregate | Binary | Negate | IsNull


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """``property: value`` inside the braces of a binding."""

    property: Name
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """``$variable: Type { ... }``."""

    variable: Variable
    type_name: Name
    matches: tuple[PropertyMatch, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Hops:
    """``{low,high}``; ``high`` is None if left open, which the checker reports."""

    low: int
    high: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Traversal:
    """``$a edge{1,3} $b``, with ``$e:`` before the edge to bind it and ``<edge>`` for both directions.

    With ``shortest`` the variable before the colon binds the path instead of an edge.
    """

    left: Variable
    edge: Name
    right: Variable
    edge_variable: Variable | None
    undirected: bool
    hops: Hops | None
    shortest: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter clause: any expression of type Bool."""

    predicate: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class NotBlock:
    """``not { ... }``."""

    clauses: tuple[Clause, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class MaybeBlock:
    """``maybe { ... }``: an optional match."""

    clauses: tuple[Clause, ...]
    span: Span = field(compare=False)


Clause = Binding | Traversal | Filter | NotBlock | MaybeBlock


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$name: Type``."""

    variable: Variable
    type: TypeRef
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Projection:
    """One element of ``return``."""

    expression: Expr
    alias: Name | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One element of ``order``; ``descending`` is None when no direction was written."""

    expression: Expr
    descending: bool | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ReadBody:
    """``match {} return {} order {} limit n offset m``."""

    clauses: tuple[Clause, ...]
    projections: tuple[Projection, ...]
    distinct: bool
    order: tuple[OrderKey, ...]
    limit: int | None
    offset: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """``property: value`` in an insert or update."""

    property: Name
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """``insert Type { ... }``."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Predicate:
    """The single comparison after ``where``."""

    property: Name
    operator: BinaryOperator
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Update:
    """``update Type set { ... } where property op value``."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    where: Predicate
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """``delete Type where property op value``."""

    type_name: Name
    where: Predicate
    span: Span = field(compare=False)


Statement = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class MutationBody:
    """Statements that run in order as one commit."""

    statements: tuple[Statement, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """``query name($p: T) @description("...") { body }``."""

    name: Name
    parameters: tuple[Parameter, ...]
    description: str | None
    instruction: str | None
    body: ReadBody | MutationBody
    span: Span = field(compare=False)

    @property
    def is_mutation(self) -> bool:
        return isinstance(self.body, MutationBody)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A whole ``.gq`` text; names may repeat, the first one wins."""

    queries: tuple[Query, ...]
