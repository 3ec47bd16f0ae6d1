"""The syntax tree of a ``.gq`` file: queries, clauses, mutation statements, and the expressions in them."""

from __future__ import annotations

from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang.gq_expression_ast import (
    EVERY_PROPERTY,
    Aggregate,
    AliasRef,
    Binary,
    Binding,
    Branch,
    Call,
    Case,
    Cast,
    Clause,
    Exists,
    Expr,
    Filter,
    Hops,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    MaybeBlock,
    Member,
    Negate,
    Not,
    NotBlock,
    PropertyAccess,
    PropertyMatch,
    Quantified,
    Slice,
    Star,
    Traversal,
    Variable,
    children,
    is_entity,
    walk,
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
    "Exists",
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
    "Member",
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
    "walk",
    "with_children",
]


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
    """``match {} return {} having {} order {} limit n offset m``; a parameter may stand for the numbers.

    Behind ``then`` it is a stage that starts from the rows of the ``former`` read, and may have no clauses.
    """

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
    former: ReadBody | None = None

    @property
    def stages(self) -> tuple[ReadBody, ...]:
        """The stages in the order in which they run; this read is the last one."""
        return (self,) if self.former is None else (*self.former.stages, self)


@dataclass(frozen=True, slots=True)
class Assignment:
    """``property: value`` in an insert or update; in an update also ``property.member[0]: value`` of a JSON value.

    With ``node_type`` it is ``to: { type: "Post", id: "7" }``: the node at an end of an edge, whose id is the value.
    """

    property: Name
    value: Expr
    span: Span = field(compare=False)
    path: tuple[str | int, ...] = ()
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
    """``query name($p: T) @description("...") { body }``, or the body alone, which is ``bare``."""

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
