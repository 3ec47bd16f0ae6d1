"""Syntax tree of the option ``where``: the predicates that Spark could push down to a source."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from omnigraph.lang.source import Span
from omnigraph.schema.types import PropertyType

FILTER_THE_FRAME = "only simple predicates are pushed down; filter the loaded frame instead: .load().where(...)"


class Problem(Exception):
    """A located error in a predicate."""

    def __init__(self, message: str, span: Span, hint: str | None = FILTER_THE_FRAME) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


class Kind(Enum):
    """Spark's type of a constant. ``PLAIN`` is an unquoted value, which is no literal in Spark SQL."""

    NULL = "null"
    BOOLEAN = "a boolean"
    EXACT = "a number"
    DOUBLE = "a double"
    TEXT = "a text"
    DATE = "a date"
    TIMESTAMP = "a timestamp"
    PLAIN = "a value"


@dataclass(frozen=True, slots=True)
class Constant:
    kind: Kind
    value: bool | Decimal | float | str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: PropertyType
    span: Span


@dataclass(frozen=True, slots=True)
class Compare:
    """``column operator constant``, with ``=  !=  <=>  <  <=  >  >=``."""

    column: Column
    operator: str
    constant: Constant


@dataclass(frozen=True, slots=True)
class OneOf:
    column: Column
    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    column: Column


class TextPosition(Enum):
    """Position at which one text must occur in another."""

    START = "startswith"
    END = "endswith"
    ANYWHERE = "contains"


@dataclass(frozen=True, slots=True)
class Holds:
    column: Column
    position: TextPosition
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """``TRUE``, ``FALSE`` or ``NULL``."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    conjuncts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    disjuncts: tuple[Node, ...]


Node = Compare | OneOf | IsNull | Holds | Known | Not | And | Or
