"""The syntax tree of a ``.gq`` file: queries, clauses, mutation statements, and the expressions in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.lang.gq_expression_ast import (
    EVERY_PROPERTY,
    Aggregate,
    AliasRef,
    Binary,
    Branch,
    Call,
    Case,
    Cast,
    Expr,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    Negate,
    Not,
    PropertyAccess,
    Quantified,
    Slice,
    Star,
    Variable,
    children,
    is_entity,
    with_children,
)
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name, TypeRef

__all__ = [
    "EVERY_PROPERTY",
    "Aggregate",
    "AliasRef",
    "Assignment",
    "Binary",
    "Binding",
    "Branch",
    "Call",
    "Case",
    "Cast",
    "Clause",
    "Delete",
    "Expr",
    "Filter",
    "ForEach",
    "Hops",
    "Index",
    "Insert",
    "IsNull",
    "ListLiteral",
    "Literal",
    "LiteralKind",
    "Matched",
    "MaybeBlock",
    "MutationBody",
    "Name",
    "Negate",
    "Not",
    "NotBlock",
    "OrderKey",
    "Parameter",
    "Projection",
    "PropertyAccess",
    "PropertyMatch",
    "Quantified",
    "Query",
    "QueryFile",
    "ReadBody",
    "Slice",
    "Star",
    "Statement",
    "Traversal",
    "Update",
    "Variable",
    "children",
    "is_entity",
    "with_children",
]


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

    ``$a <$e> $b`` is an edge of any type; the name of its edge is empty. With ``shortest`` the variable before the
    colon binds the path instead of an edge.
    """

    left: Variable
    edge: Name
    right: Variable
    edge_variable: Variable | None
    undirected: bool
    hops: Hops | None
    shortest: bool
    span: Span = field(compare=False)

    @property
    def is_any(self) -> bool:
        """True for ``$a <$e> $b``, an edge of any type."""
        return not self.edge.text


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
    """``$name: Type``; a list of records, ``[{ name: Type, ... }]``, has ``fields``, and its type means nothing."""

    variable: Variable
    type: TypeRef
    span: Span = field(compare=False)
    fields: tuple[tuple[Name, TypeRef], ...] = ()


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
    """``match {} return {} having {} order {} limit n offset m``; a parameter may stand for the numbers."""

    clauses: tuple[Clause, ...]
    projections: tuple[Projection, ...]
    distinct: bool
    order: tuple[OrderKey, ...]
    limit: int | Variable | None
    offset: int | Variable | None
    span: Span = field(compare=False)
    having: Expr | None = None
    union: tuple[ReadBody, ...] = ()
    """Further reads whose rows are added; order, limit and offset belong to all of them."""
    keeps_duplicates: bool = False
    """``union all`` instead of ``union``."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """``property: value`` in an insert or update.

    With ``node_type`` it is ``to: { type: "Post", id: "7" }``: the node at an end of an edge, whose id is the value.
    """

    property: Name
    value: Expr
    span: Span = field(compare=False)
    node_type: Expr | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """``insert Type { ... }``, or ``upsert``, which keeps the properties that it does not name."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(compare=False)
    is_upsert: bool = False
    returning: tuple[Projection, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """``update Type set { ... } where condition``; behind a match also ``update $variable set { ... }``.

    A bare name is a property of the entity.
    """

    target: Name | Variable
    assignments: tuple[Assignment, ...]
    where: Expr | None
    span: Span = field(compare=False)
    returning: tuple[Projection, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """``delete Type where condition``; behind a match also ``delete $variable``."""

    target: Name | Variable
    where: Expr | None
    span: Span = field(compare=False)
    returning: tuple[Projection, ...] = ()


Statement = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Matched:
    """``match { ... }`` and the statements behind it, which run for the rows of the match."""

    clauses: tuple[Clause, ...]
    statements: tuple[Statement, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ForEach:
    """``for $row in $rows { ... }``: statements that run for the items of a list of records."""

    variable: Variable
    rows: Variable
    statements: tuple[Statement, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class MutationBody:
    """Statements that run in order as one commit."""

    statements: tuple[Statement | Matched | ForEach, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """``query name($p: T) @description("...") { body }``, or a read without a header, which is ``bare``."""

    name: Name
    parameters: tuple[Parameter, ...]
    description: str | None
    instruction: str | None
    body: ReadBody | MutationBody
    span: Span = field(compare=False)
    bare: bool = False

    @property
    def is_mutation(self) -> bool:
        return isinstance(self.body, MutationBody)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A whole ``.gq`` text; names may repeat, the first one wins."""

    queries: tuple[Query, ...]
