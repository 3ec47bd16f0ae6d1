"""The parts of a row of the table of functions: kinds of arguments, null rules, types of results.

Argument kinds are sets of scalar families, so a scalar that joins a family is accepted where the family is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.functions import UNITS
from omnigraph.core.scalars import Family, Scalar
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType


class Nulls(Enum):
    """The result of a function for null arguments; the value is the rule as the documentation states it."""

    STRICT = "null if an argument is null"
    DOMAIN = "null if an argument is null, or outside of the function's domain"
    SKIPPED = "null arguments are skipped; null if all are"
    OWN = "described in its row"


class Group(Enum):
    """Sections of the documentation."""

    TEXT = "Text"
    NUMBER = "Numbers"
    TIME = "Dates and times"
    LIST = "Lists"
    JSON = "JSON values"
    CHOICE = "Choices"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument: the families it accepts, and the type that the function computes with."""

    expects: str
    """The argument as messages name it."""
    families: frozenset[Family] = frozenset()
    is_list: bool | None = False
    """None accepts both lists and single values."""
    computed: Callable[[PropertyType], PropertyType] = lambda type_: type_.item
    """The type of the value, or of the items of the list, that the function gets."""
    values: tuple[str, ...] | None = None
    """The texts that are accepted, if the argument is one of a few."""
    is_constant: bool = False
    """True if the value must be known before the query runs: a literal or a parameter."""

    def accepts(self, type_: PropertyType) -> bool:
        return self.is_list in (None, type_.is_list) and type_.scalar.info.family in self.families


def _widest(type_: PropertyType) -> PropertyType:
    """The type of arithmetic: F64, U64, I64, or the decimal itself."""
    if type_.digits is not None:
        return type_.item
    if type_.scalar.is_float:
        return PropertyType(Scalar.F64)
    return PropertyType(Scalar.U64 if type_.scalar is Scalar.U64 else Scalar.I64)


def _always(scalar: Scalar) -> Callable[[PropertyType], PropertyType]:
    return lambda _: PropertyType(scalar)


_NUMBERS: Final = frozenset((Family.INTEGER, Family.FLOAT, Family.DECIMAL))
_NOT_COMPARABLE: Final = (Family.BYTES, Family.VECTOR, Family.JSON)
_COMPARABLE: Final = frozenset(family for family in Family if family not in _NOT_COMPARABLE)

TEXT: Final = Kind("a text", frozenset((Family.TEXT,)))
PATTERN: Final = Kind("a pattern: a literal or a parameter", frozenset((Family.TEXT,)), is_constant=True)
UNIT: Final = Kind(f"one of {', '.join(UNITS)}", frozenset((Family.TEXT,)), values=UNITS, is_constant=True)
INTEGER: Final = Kind("an integer", frozenset((Family.INTEGER,)), computed=_always(Scalar.I64))
DIGITS: Final = replace(INTEGER, expects="an integer: a literal or a parameter", is_constant=True)
NUMBER: Final = Kind("a number", _NUMBERS, computed=_widest)
FLOAT: Final = Kind("a number", _NUMBERS, computed=_always(Scalar.F64))
DAY: Final = Kind("a Date or DateTime", frozenset((Family.TEMPORAL,)))
CLOCK: Final = Kind("a Date, DateTime or Time", frozenset((Family.TEMPORAL, Family.TIME)))
TIME: Final = Kind("a Time", frozenset((Family.TIME,)))
LENGTH: Final = Kind("a Duration", frozenset((Family.DURATION,)))
JSON: Final = Kind("a Json value", frozenset((Family.JSON,)))
STEP: Final = Kind(
    "the name of a member or the number of an item",
    frozenset((Family.TEXT, Family.INTEGER)),
    computed=lambda type_: PropertyType(Scalar.I64 if type_.scalar.is_integer else type_.scalar),
)
PATH: Final = Kind('a path: a literal such as "address.city"', frozenset((Family.TEXT,)), is_constant=True)
LIST: Final = Kind("a list", _COMPARABLE, is_list=True)
SCALAR: Final = Kind("a single value", _COMPARABLE)
VALUE: Final = Kind("a value", _COMPARABLE | {Family.JSON}, is_list=None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One function."""

    group: Group
    signature: str
    """The call as the documentation shows it."""
    says: str
    """The value, as the documentation describes it."""
    example: tuple[str, str]
    """An expression of literals, and its value as JSON."""
    takes: tuple[Kind, ...]
    """The kinds of the arguments; the last one repeats, and trailing ones may be missing."""
    gives: Callable[[Sequence[ir.Expr]], PropertyType]
    """The type of the result, given the arguments in the types that the function computes with."""
    nulls: Nulls = Nulls.STRICT
    alike: bool = False
    """True if all arguments get one common type."""


def of(
    scalar: Scalar, *, is_list: bool = False, may_be_null: bool = False
) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """A result of a fixed type, nullable if an argument is."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        nullable = may_be_null or any(argument.type.nullable for argument in arguments)
        return PropertyType(scalar, is_list, nullable)

    return gives


def like(place: int = 0) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """A result of the type of one argument."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        nullable = any(argument.type.nullable for argument in arguments)
        return replace(arguments[place].type.item, nullable=nullable)

    return gives


def rounded(arguments: Sequence[ir.Expr]) -> PropertyType:
    """A decimal stays one; another number with ``digits`` is an F64."""
    same = like()(arguments)
    return same if len(arguments) == 1 or same.digits is not None else of(Scalar.F64)(arguments)


def part(*, is_list: bool) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """An item or a slice of the first argument."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        # An index may lie outside of the list, and a stored list may hold nulls.
        nullable = not is_list or any(argument.type.nullable for argument in arguments)
        return replace(arguments[0].type.item, is_list=is_list, nullable=nullable)

    return gives


def chosen(arguments: Sequence[ir.Expr]) -> PropertyType:
    """One of the arguments that is not null: null only if all of them are."""
    enums = {argument.type.enum_values for argument in arguments}
    kept = arguments[0].type if len(enums) == 1 else replace(arguments[0].type, enum_values=None)
    return replace(kept, nullable=all(argument.type.nullable for argument in arguments))


def nulled(arguments: Sequence[ir.Expr]) -> PropertyType:
    """The first argument, or null."""
    return replace(arguments[0].type, nullable=True)
