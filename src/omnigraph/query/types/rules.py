"""The table of scalar functions: arguments, result type, null rule and documentation, one row each.

Argument kinds are sets of scalar families, so a scalar that joins a family is accepted where the family is. Both
executors have a table with the same rows (``exec/functions/kernels.py``, ``spark/query/functions.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from omnigraph.core.functions import UNITS, ScalarFunction
from omnigraph.core.scalars import Family, Scalar
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType

F = ScalarFunction


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
    CHOICE = "Choices"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument: the families it accepts, and the type that the function computes with."""

    expects: str
    """The argument as messages name it."""
    families: frozenset[Family] = frozenset()
    is_list: bool | None = False
    """None accepts both lists and single values."""
    computed: Callable[[PropertyType], Scalar] = lambda type_: type_.scalar
    values: tuple[str, ...] | None = None
    """The texts that are accepted, if the argument is one of a few."""
    is_constant: bool = False
    """True if the value must be known before the query runs: a literal or a parameter."""

    def accepts(self, type_: PropertyType) -> bool:
        return self.is_list in (None, type_.is_list) and type_.scalar.info.family in self.families


def _widest(type_: PropertyType) -> Scalar:
    """The type of arithmetic: F64, U64 or I64."""
    if type_.scalar.is_float:
        return Scalar.F64
    return Scalar.U64 if type_.scalar is Scalar.U64 else Scalar.I64


_NUMBERS: Final = frozenset((Family.INTEGER, Family.FLOAT))
_COMPARABLE: Final = frozenset(family for family in Family if family not in (Family.BYTES, Family.VECTOR))

TEXT: Final = Kind("a text", frozenset((Family.TEXT,)))
PATTERN: Final = Kind("a pattern: a literal or a parameter", frozenset((Family.TEXT,)), is_constant=True)
UNIT: Final = Kind(f"one of {', '.join(UNITS)}", frozenset((Family.TEXT,)), values=UNITS, is_constant=True)
INTEGER: Final = Kind("an integer", frozenset((Family.INTEGER,)), computed=lambda _: Scalar.I64)
DIGITS: Final = replace(INTEGER, expects="an integer: a literal or a parameter", is_constant=True)
NUMBER: Final = Kind("a number", _NUMBERS, computed=_widest)
FLOAT: Final = Kind("a number", _NUMBERS, computed=lambda _: Scalar.F64)
DAY: Final = Kind("a Date or DateTime", frozenset((Family.TEMPORAL,)))
LIST: Final = Kind("a list", _COMPARABLE, is_list=True)
SCALAR: Final = Kind("a single value", _COMPARABLE)
VALUE: Final = Kind("a value", _COMPARABLE, is_list=None)


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


def _of(
    scalar: Scalar, *, is_list: bool = False, may_be_null: bool = False
) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """A result of a fixed type, nullable if an argument is."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        nullable = may_be_null or any(argument.type.nullable for argument in arguments)
        return PropertyType(scalar, is_list, nullable)

    return gives


def _like(place: int = 0, *, may_be_null: bool = False) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """A result of the type of one argument."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        return _of(arguments[place].type.scalar, may_be_null=may_be_null)(arguments)

    return gives


def _part(*, is_list: bool) -> Callable[[Sequence[ir.Expr]], PropertyType]:
    """An item or a slice of the first argument."""

    def gives(arguments: Sequence[ir.Expr]) -> PropertyType:
        # An index may lie outside of the list, and a stored list may hold nulls.
        return _of(arguments[0].type.scalar, is_list=is_list, may_be_null=not is_list)(arguments)

    return gives


def _chosen(arguments: Sequence[ir.Expr]) -> PropertyType:
    """One of the arguments that is not null: null only if all of them are."""
    enums = {argument.type.enum_values for argument in arguments}
    kept = arguments[0].type if len(enums) == 1 else replace(arguments[0].type, enum_values=None)
    return replace(kept, nullable=all(argument.type.nullable for argument in arguments))


def _nulled(arguments: Sequence[ir.Expr]) -> PropertyType:
    return replace(arguments[0].type, nullable=True)


RULES: Final[Mapping[ScalarFunction, Rule]] = {
    F.LOWER: Rule(Group.TEXT, "lower(text)", "in lower case", ('lower("Zoë")', '"zoë"'), (TEXT,), _of(Scalar.STRING)),
    F.UPPER: Rule(
        Group.TEXT, "upper(text)", "in upper case", ('upper("straße")', '"STRASSE"'), (TEXT,), _of(Scalar.STRING)
    ),
    F.TRIM: Rule(
        Group.TEXT,
        "trim(text)",
        "without spaces, tabs and line breaks at both ends",
        ('trim("  a b ")', '"a b"'),
        (TEXT,),
        _of(Scalar.STRING),
    ),
    F.LENGTH: Rule(
        Group.TEXT, "length(text)", "the number of characters: I64", ('length("Zoë")', "3"), (TEXT,), _of(Scalar.I64)
    ),
    F.SUBSTRING: Rule(
        Group.TEXT,
        "substring(text, start, length)",
        "the characters from `start`, counted from 0; a negative start counts from the end; without `length` all",
        ('substring("abcdef", 1, 3)', '"bcd"'),
        (TEXT, INTEGER),
        _of(Scalar.STRING),
    ),
    F.REPLACE: Rule(
        Group.TEXT,
        "replace(text, part, other)",
        "with `other` in place of every `part`; an empty `part` changes nothing",
        ('replace("a-b-c", "-", "+")', '"a+b+c"'),
        (TEXT,),
        _of(Scalar.STRING),
    ),
    F.SPLIT: Rule(
        Group.TEXT,
        "split(text, separator)",
        "the list of parts; an empty separator does not divide",
        ('split("a,b", ",")', '["a", "b"]'),
        (TEXT,),
        _of(Scalar.STRING, is_list=True),
    ),
    F.CONCAT: Rule(
        Group.TEXT,
        "concat(a, b, ...)",
        "the texts joined, as by `+`",
        ('concat("a", "b", "c")', '"abc"'),
        (TEXT,),
        _of(Scalar.STRING),
    ),
    F.REGEX_MATCH: Rule(
        Group.TEXT,
        "regex_match(text, pattern)",
        "true if a part of the text matches the pattern; `^` and `$` anchor it",
        ('regex_match("tel 42", "[0-9]+")', "true"),
        (TEXT, PATTERN),
        _of(Scalar.BOOL),
    ),
    F.REGEX_EXTRACT: Rule(
        Group.TEXT,
        "regex_extract(text, pattern)",
        "the first match, or its first group if the pattern has groups; null without a match",
        ('regex_extract("tel 42", "([0-9])[0-9]*")', '"4"'),
        (TEXT, PATTERN),
        _of(Scalar.STRING, may_be_null=True),
        Nulls.DOMAIN,
    ),
    F.ABS: Rule(Group.NUMBER, "abs(x)", "the absolute value; I64, U64 or F64", ("abs(-3)", "3"), (NUMBER,), _like()),
    F.SIGN: Rule(Group.NUMBER, "sign(x)", "-1, 0 or 1; I64, U64 or F64", ("sign(-2.5)", "-1.0"), (NUMBER,), _like()),
    F.ROUND: Rule(
        Group.NUMBER,
        "round(x, digits)",
        "the nearest number with `digits` decimal places (0 by default), halves away from zero; with `digits` an F64",
        ("round(2.345, 2)", "2.35"),
        (NUMBER, DIGITS),
        lambda arguments: _of(arguments[0].type.scalar if len(arguments) == 1 else Scalar.F64)(arguments),
    ),
    F.FLOOR: Rule(
        Group.NUMBER,
        "floor(x)",
        "the next whole number below; of x's type",
        ("floor(-2.5)", "-3.0"),
        (NUMBER,),
        _like(),
    ),
    F.CEIL: Rule(
        Group.NUMBER, "ceil(x)", "the next whole number above; of x's type", ("ceil(2.1)", "3.0"), (NUMBER,), _like()
    ),
    F.SQRT: Rule(
        Group.NUMBER,
        "sqrt(x)",
        "the square root; null for a negative number",
        ("sqrt(9)", "3.0"),
        (FLOAT,),
        _of(Scalar.F64, may_be_null=True),
        Nulls.DOMAIN,
    ),
    F.POW: Rule(
        Group.NUMBER,
        "pow(x, y)",
        "x to the power of y; null where that is not a real number",
        ("pow(2, 10)", "1024.0"),
        (FLOAT,),
        _of(Scalar.F64, may_be_null=True),
        Nulls.DOMAIN,
    ),
    F.LOG: Rule(
        Group.NUMBER,
        "log(x)",
        "the natural logarithm; null for zero and negative numbers",
        ("log(1)", "0.0"),
        (FLOAT,),
        _of(Scalar.F64, may_be_null=True),
        Nulls.DOMAIN,
    ),
    F.LEAST: Rule(
        Group.NUMBER,
        "least(a, b, ...)",
        "the smallest value, as `order` compares: numbers, texts, dates and Bools",
        ("least(3, 1, 2)", "1"),
        (SCALAR,),
        _chosen,
        Nulls.SKIPPED,
        alike=True,
    ),
    F.GREATEST: Rule(
        Group.NUMBER,
        "greatest(a, b, ...)",
        "the largest value",
        ('greatest("a", "b")', '"b"'),
        (SCALAR,),
        _chosen,
        Nulls.SKIPPED,
        alike=True,
    ),
    F.YEAR: Rule(
        Group.TIME,
        "year(x)",
        "of a Date or DateTime, in UTC: I64",
        ('year(date("2024-05-31"))', "2024"),
        (DAY,),
        _of(Scalar.I64),
    ),
    F.MONTH: Rule(Group.TIME, "month(x)", "1 to 12", ('month(date("2024-05-31"))', "5"), (DAY,), _of(Scalar.I64)),
    F.DAY: Rule(
        Group.TIME, "day(x)", "the day of the month", ('day(date("2024-05-31"))', "31"), (DAY,), _of(Scalar.I64)
    ),
    F.HOUR: Rule(
        Group.TIME,
        "hour(x)",
        "0 to 23; 0 for a Date",
        ('hour(datetime("2024-05-31T12:30:15Z"))', "12"),
        (DAY,),
        _of(Scalar.I64),
    ),
    F.MINUTE: Rule(
        Group.TIME,
        "minute(x)",
        "0 to 59",
        ('minute(datetime("2024-05-31T12:30:15Z"))', "30"),
        (DAY,),
        _of(Scalar.I64),
    ),
    F.SECOND: Rule(
        Group.TIME,
        "second(x)",
        "0 to 59, without milliseconds",
        ('second(datetime("2024-05-31T12:30:15.9Z"))', "15"),
        (DAY,),
        _of(Scalar.I64),
    ),
    F.DATE_TRUNC: Rule(
        Group.TIME,
        'date_trunc("unit", x)',
        "the start of the year, quarter, month, week (Monday), day, hour, minute or second; of x's type",
        ('date_trunc("month", date("2024-05-31"))', '"2024-05-01"'),
        (UNIT, DAY),
        _like(1),
    ),
    F.ADD_MONTHS: Rule(
        Group.TIME,
        'x + duration(n, "unit")',
        "later by years or months; a day that the month lacks becomes its last one",
        ('date("2024-01-31") + duration(1, "month")', '"2024-02-29"'),
        (DAY, INTEGER),
        _like(),
    ),
    F.ADD_DAYS: Rule(
        Group.TIME,
        'x + duration("P7D")',
        "later by weeks or days; the text is an ISO 8601 duration, or one such as `7d`",
        ('date("2024-01-31") - duration("P1W")', '"2024-01-24"'),
        (DAY, INTEGER),
        _like(),
    ),
    F.ADD_MILLISECONDS: Rule(
        Group.TIME,
        'x + duration("PT1H30M")',
        "a DateTime, later by hours, minutes or seconds",
        ('datetime("2024-01-31T12:00:00Z") + duration("90m")', '"2024-01-31T13:30:00.000Z"'),
        (DAY, INTEGER),
        _like(),
    ),
    F.DIFFERENCE: Rule(
        Group.TIME,
        "x - y",
        "the days between two Dates, the milliseconds between two DateTimes: I64",
        ('date("2024-03-01") - date("2024-02-01")', "29"),
        (DAY,),
        _of(Scalar.I64),
    ),
    F.SIZE: Rule(Group.LIST, "size(list)", "the number of items: I64", ("size([1, 2])", "2"), (LIST,), _of(Scalar.I64)),
    F.ITEM: Rule(
        Group.LIST,
        "list[index]",
        "an item, counted from 0; a negative index counts from the end; null where there is none",
        ("[1, 2, 3][-1]", "3"),
        (LIST, INTEGER),
        _part(is_list=False),
        Nulls.DOMAIN,
    ),
    F.SLICE: Rule(
        Group.LIST,
        "list[start:stop]",
        "the items from `start` up to but without `stop`; either may be missing, or negative to count from the end",
        ("[1, 2, 3][1:]", "[2, 3]"),
        (LIST, INTEGER),
        _part(is_list=True),
    ),
    F.COALESCE: Rule(
        Group.CHOICE,
        "coalesce(a, b, ...)",
        "the first argument that is not null",
        ("coalesce(null, 2)", "2"),
        (VALUE,),
        _chosen,
        Nulls.SKIPPED,
        alike=True,
    ),
    F.NULLIF: Rule(
        Group.CHOICE,
        "nullif(a, b)",
        "null if a equals b, otherwise a",
        ('nullif("", "")', "null"),
        (SCALAR,),
        _nulled,
        Nulls.OWN,
        alike=True,
    ),
}
"""One row per function. Functions of another form (``if``, ``case``, ``cast``, ``any``) are in ``forms.py``."""
