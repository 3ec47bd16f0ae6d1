"""Typed expressions of the query IR.

Every expression knows its type. Null semantics are SQL's: a comparison with null is null, and a predicate keeps a row
only if it is true.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import AggregateFunction, BinaryOperator, Quantifier
from omnigraph.core.scalars import Scalar
from omnigraph.schema.types import PropertyType

BOOL = PropertyType(Scalar.BOOL, nullable=True)
CERTAIN_BOOL = PropertyType(Scalar.BOOL)
TEXT = PropertyType(Scalar.STRING)
OPTIONAL_TEXT = PropertyType(Scalar.STRING, nullable=True)
INTEGER = PropertyType(Scalar.I64)
FLOAT = PropertyType(Scalar.F64)
DATETIME = PropertyType(Scalar.DATETIME)
SCORE = PropertyType(Scalar.F32, nullable=True)
FUSED_SCORE = PropertyType(Scalar.F64, nullable=True)

ConstantValue = str | int | float | bool | Decimal | None | tuple["ConstantValue", ...]
"""Dates are days and times milliseconds since the epoch, durations milliseconds, Json values canonical texts; lists and
vectors are tuples."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known before the query runs."""

    value: ConstantValue
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value supplied by the caller; replaced by a Constant before the query runs."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Now:
    """The time of the query; replaced by one Constant before the query runs."""

    type: PropertyType = DATETIME


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the node or edge bound to a variable."""

    variable: str
    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class EntityId:
    """The id of the node or edge bound to a variable.

    ``$p`` stands for the node, so it compares with nodes only; ``id($p)`` is the text and does what texts do.
    """

    variable: str
    type: PropertyType = TEXT
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name of the type of the entity bound to a variable; null where that is null."""

    variable: str
    name: str
    type: PropertyType = TEXT


class ComputedPart(Enum):
    """Values that operators compute for variables that are bound to no entity."""

    LENGTH = "length"
    """The number of hops of a shortest path."""
    NODES = "nodes"
    """The ids of the nodes along a shortest path, both ends included."""
    FOUND = "found"
    """True if a block has a match."""
    VALUE = "value"
    """A column of a former stage."""


PATH_PARTS = (ComputedPart.LENGTH, ComputedPart.NODES)
"""The readable attributes of a path."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that an operator below computed for each row, as an attribute of its variable."""

    variable: str
    part: ComputedPart
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Compare:
    """``= != < <= > >=`` of two scalars; numbers compare by value, whatever their widths."""

    operator: BinaryOperator
    left: Expr
    right: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class Logic:
    """``and`` / ``or`` of two or more predicates."""

    operator: BinaryOperator
    operands: tuple[Expr, ...]
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a predicate; null stays null."""

    operand: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class Member:
    """Membership of a scalar in a list (a property, parameter or constant): ``contains`` and ``in``."""

    item: Expr
    items: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are not all constants, in one type."""

    items: tuple[Expr, ...]
    type: PropertyType


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Exact, case-sensitive ``contains`` or ``starts_with`` on text."""

    operator: BinaryOperator
    text: Expr
    part: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class IsNull:
    """``is null``, or negated; never null itself."""

    operand: Expr
    negated: bool
    type: PropertyType = CERTAIN_BOOL


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``+ - * / %``. Integers stay integers except under ``/``; dividing by zero gives null."""

    operator: BinaryOperator
    left: Expr
    right: Expr
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function. Its arguments have the types that the function computes with."""

    function: ScalarFunction
    arguments: tuple[Expr, ...]
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Cast:
    """A value in another type; null if that type has no such value, as for a text that is not a number."""

    operand: Expr
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, all of one type. Other branches are not evaluated."""

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Item:
    """The item of a list that a quantifier looks at, by the name of its variable."""

    variable: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Quantified:
    """``any`` is the disjunction of the predicate over the items of a list, ``all`` the conjunction."""

    quantifier: Quantifier
    variable: str
    items: Expr
    predicate: Expr
    type: PropertyType = BOOL


class SearchKind(Enum):
    """The full-text predicates; ``match_text`` is the same as ``search``."""

    SEARCH = "search"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Search:
    """Full-text predicate: the text contains one of the query's tokens (within ``edits`` for fuzzy)."""

    kind: SearchKind
    text: Expr
    query: Expr
    edits: Expr | None = None
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True)
class Nearest:
    """L2 distance of a vector property to a query vector; a text query is embedded first."""

    vector: Property
    query: Expr
    type: PropertyType = SCORE


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 relevance of a text; null where no token matches."""

    text: Expr
    query: Expr
    type: PropertyType = SCORE


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal-rank fusion of two or more rankings: the sum of 1 / (k + rank), ranks counted from 1."""

    arms: tuple[Nearest | Bm25, ...]
    k: Expr
    type: PropertyType = FUSED_SCORE


Ranking = Nearest | Bm25 | Rrf


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows of a group; nulls are not counted, summed or collected.

    ``fraction`` belongs to ``percentile``. ``by`` orders the rows for ``first`` and ``last``; equal rows are ordered by
    the argument, so that the result depends on the values only.
    """

    function: AggregateFunction
    argument: Expr
    distinct: bool
    type: PropertyType
    fraction: float | None = None
    by: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A result column by position; the reference of ``order`` after grouping or ``distinct``."""

    position: int
    type: PropertyType


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """A score computed by a ``Score`` operator, by its number."""

    number: int
    type: PropertyType


Expr = (
    Constant
    | Parameter
    | Now
    | Property
    | EntityId
    | TypeName
    | Computed
    | Compare
    | Logic
    | Not
    | Member
    | ListOf
    | TextMatch
    | IsNull
    | Arithmetic
    | Call
    | Cast
    | Case
    | Item
    | Quantified
    | Search
    | Nearest
    | Bm25
    | Rrf
    | Aggregate
    | Output
    | ScoreColumn
)

TRUE = Constant(True, CERTAIN_BOOL)
FALSE = Constant(False, CERTAIN_BOOL)


def conjunction(predicates: tuple[Expr, ...]) -> Expr | None:
    """The conjunction of predicates, flattened; None if there are none."""
    flat: list[Expr] = []
    for predicate in predicates:
        if isinstance(predicate, Logic) and predicate.operator is BinaryOperator.AND:
            flat.extend(predicate.operands)
        elif predicate != TRUE:
            flat.append(predicate)
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else Logic(BinaryOperator.AND, tuple(flat))
