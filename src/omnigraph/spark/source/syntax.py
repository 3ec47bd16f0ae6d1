"""Conditions as Spark would hand them to a source: the syntax tree of the option ``where``."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from omnigraph.lang.source import Span
from omnigraph.schema.types import PropertyType

ELSEWHERE = "Spark tests any other condition after everything was read: .load().where(...)"


class Problem(Exception):
    """What is wrong with a condition, and where."""

    def __init__(self, message: str, span: Span, hint: str | None = ELSEWHERE) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


class Kind(Enum):
    """What a constant is to Spark; ``PLAIN`` is a value without quotes that is nothing to Spark."""

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


class Place(Enum):
    """Where a text holds another."""

    START = "startswith"
    END = "endswith"
    ANYWHERE = "contains"


@dataclass(frozen=True, slots=True)
class Holds:
    column: Column
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """``TRUE``, ``FALSE`` or ``NULL``."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Node, ...]


Node = Compare | OneOf | IsNull | Holds | Known | Not | And | Or
