"""The expressions and clauses of the syntax tree of a ``.gq`` file, which contain each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from enum import Enum
from typing import assert_never

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import AggregateFunction, BinaryOperator, Quantifier
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name, TypeRef

EVERY_PROPERTY = "*"
"""The name of the property in ``$variable.*``, which stands for the whole entity."""


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
    """``$variable.property``, or ``$variable.*``."""

    variable: Variable
    property: Name
    span: Span = field(compare=False)


def is_entity(access: PropertyAccess) -> bool:
    """True for ``$variable.*``."""
    return access.property.text == EVERY_PROPERTY


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
class Star:
    """The ``*`` of ``count(*)``: the rows themselves."""

    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate, such as ``count(distinct $f)``; ``second`` is the other argument of those that have two."""

    function: AggregateFunction
    argument: Expr
    distinct: bool
    span: Span = field(compare=False)
    second: Expr | None = None


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


@dataclass(frozen=True, slots=True)
class Not:
    """``not operand``; also ``a not in b``."""

    operand: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Branch:
    """``when condition then value``."""

    condition: Expr
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Case:
    """``case when a then b else c end``; with a subject, ``case x when a then b end`` compares it with each value."""

    subject: Expr | None
    branches: tuple[Branch, ...]
    otherwise: Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """``cast(operand as Type)``."""

    operand: Expr
    type: TypeRef
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """``operand.name``: a member of a JSON value."""

    operand: Expr
    name: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """``list[index]``."""

    operand: Expr
    index: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """``list[start:stop]``; a missing bound is None."""

    operand: Expr
    start: Expr | None
    stop: Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """``any($item in list where predicate)`` and ``all(...)``."""

    quantifier: Quantifier
    variable: Variable
    items: Expr
    predicate: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """``exists { ... }``: true if the clauses have a match."""

    clauses: tuple[Clause, ...]
    span: Span = field(compare=False)


Expr = (
    Literal
    | ListLiteral
    | Variable
    | PropertyAccess
    | AliasRef
    | Call
    | Aggregate
    | Star
    | Binary
    | Negate
    | IsNull
    | Not
    | Case
    | Cast
    | Member
    | Index
    | Slice
    | Quantified
    | Exists
)


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
    colon binds the path instead of an edge, with ``all shortest`` every path in turn.
    """

    left: Variable
    edge: Name
    right: Variable
    edge_variable: Variable | None
    undirected: bool
    hops: Hops | None
    shortest: bool
    span: Span = field(compare=False)
    every: bool = field(default=False, kw_only=True)
    """All shortest paths instead of one of them."""

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


def children(expression: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order of the text. A block is a pattern and none of them."""
    match expression:
        case Binary(_, left, right):
            return (left, right)
        case Negate(operand) | IsNull(operand) | Not(operand) | Cast(operand) | Member(operand):
            return (operand,)
        case ListLiteral(items):
            return items
        case Call(_, arguments):
            return arguments
        case Aggregate(_, argument, _, _, second):
            return (argument,) if second is None else (argument, second)
        case Case(subject, branches, otherwise):
            tested = (part for branch in branches for part in (branch.condition, branch.value))
            return tuple(part for part in (subject, *tested, otherwise) if part is not None)
        case Index(operand, index):
            return (operand, index)
        case Slice(operand, start, stop):
            return tuple(part for part in (operand, start, stop) if part is not None)
        case Quantified(_, _, items, predicate):
            return (items, predicate)
        case Literal() | Variable() | PropertyAccess() | AliasRef() | Star() | Exists():
            return ()
        case _:
            assert_never(expression)


def walk(expression: Expr) -> Iterator[Expr]:
    """The expression and all subexpressions, in pre-order."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def with_children(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with ``change`` applied to each direct subexpression."""
    match expression:
        case Binary():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Negate() | IsNull() | Not() | Cast() | Member():
            return replace(expression, operand=change(expression.operand))
        case ListLiteral():
            return replace(expression, items=tuple(map(change, expression.items)))
        case Call():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Aggregate():
            second = _changed(expression.second, change)
            return replace(expression, argument=change(expression.argument), second=second)
        case Case():
            return replace(
                expression,
                subject=_changed(expression.subject, change),
                branches=tuple(
                    replace(branch, condition=change(branch.condition), value=change(branch.value))
                    for branch in expression.branches
                ),
                otherwise=_changed(expression.otherwise, change),
            )
        case Index():
            return replace(expression, operand=change(expression.operand), index=change(expression.index))
        case Slice():
            bounds = (_changed(expression.start, change), _changed(expression.stop, change))
            return replace(expression, operand=change(expression.operand), start=bounds[0], stop=bounds[1])
        case Quantified():
            return replace(expression, items=change(expression.items), predicate=change(expression.predicate))
        case Literal() | Variable() | PropertyAccess() | AliasRef() | Star() | Exists():
            return expression
        case _:
            assert_never(expression)


def _changed(expression: Expr | None, change: Callable[[Expr], Expr]) -> Expr | None:
    return None if expression is None else change(expression)
