"""Calls of every scalar function and cast over values that try to break them: nulls, NaN, empty and extreme ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa

from omnigraph.core.functions import UNITS, ScalarFunction
from omnigraph.core.scalars import INTEGER_RANGES, Family, Scalar
from omnigraph.core.temporal import DAYS_RANGE, DURATION_RANGE, MILLISECONDS_RANGE
from omnigraph.query import expressions as ir
from omnigraph.query.types.forms import CASTS
from omnigraph.query.types.rules import RULES
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.types import PropertyType
from tests.features.exec import naive_functions

F = ScalarFunction
OWNER = "v"
ROWS_MAX = 250
"""Rows of one case; of more combinations a fixed sample is taken."""

TEXTS = [
    "",
    "a",
    "Ab",
    " a\t\n",
    "Straße",
    "ǅungla İı",
    "ΑΣ ΣΑΣ",
    "ﬁ ŉ",
    "a,b,,c,",
    "\\E.*\\Q",
    "z\U0001f600é",
    "x" * 40,
]
DIGITS = [
    "12",
    "-0",
    "+7",
    "007",
    "9223372036854775808",
    "18446744073709551616",
    "1.5",
    "-1e3",
    "1e400",
    "1e-400",
    ".5",
]
OTHERS = [
    "NaN",
    "inf",
    " 1",
    "1 ",
    "1_0",
    "true",
    "false",
    "True",
    "2024-02-29",
    "2023-02-29",
    "2024-2-9T1:02:03+02:00",
    "12:30",
    "24:00",
    "PT90S",
    "P1M",
    "{00000000-0000-0000-0000-000000000007}",
    ' {"b": 1.0, "a": [1e2, null]}',
    '{"a": 1, "a": 2}',
]
PATTERNS = ["a", "^$", "[^a]", "(b)(,)?", "b+(?:,)", "[(]", r"\(", "(?P<n>a)|(z)"]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999999999999994,
    2.675,
    1.005,
    -1e-300,
    1e300,
    2.0**53,
    -(2.0**63),
    2.0**64,
]
JSON_TEXTS = [
    "0",
    "-2.5",
    "12345678901234567890.125",
    "1e300",
    "true",
    '""',
    '"a"',
    '"12"',
    '"2024-02-29"',
    '"12:30"',
    '"PT1M"',
    "[]",
    '[1,"a",null,[2]]',
    "{}",
    '{"a":{"b":1,"c":null},"x":[1,2]}',
    '{"a":[{"b":"é"}]}',
    '{"x":[1,{"y":2}]}',
]
POOLS: dict[Scalar, list[Any]] = {
    Scalar.STRING: [*TEXTS, *DIGITS, *OTHERS],
    Scalar.BOOL: [True, False],
    Scalar.I32: [0, 1, -1, *INTEGER_RANGES[Scalar.I32]],
    Scalar.I64: [0, 1, -1, 2, -3, 40, 2**53 + 1, 16777217, *INTEGER_RANGES[Scalar.I64]],
    Scalar.U32: [0, 1, 2**32 - 1],
    Scalar.U64: [0, 1, 2**53 + 1, 2**63, 2**64 - 1],
    Scalar.F32: [0.0, -0.0, 0.5, 16777216.0, 3.4028234663852886e38, 0.10000000149011612, math.nan, math.inf],
    Scalar.F64: [*FLOATS, math.nan, math.inf, -math.inf],
    Scalar.DATE: [-1, 0, 59, 19782, 18262, *DAYS_RANGE],
    Scalar.DATETIME: [-1, 0, 1, 1_577_836_800_001, 1_709_164_799_999, *MILLISECONDS_RANGE],
    Scalar.DECIMAL: list(map(Decimal, ("0", "0.001", "-0.5", "0.5", "2.5", "-2.675", "1000", "999999999.999"))),
    Scalar.TIME: [0, 1, 45_000_123, 86_399_999],
    Scalar.DURATION: [0, 1, -1, 1_500, -5_400_000, 90_061_001, *DURATION_RANGE],
    Scalar.UUID: [str(UUID(int=number)) for number in (0, 7, 2**127 + 5)],
    Scalar.JSON: JSON_TEXTS,
}
COMPARABLE = [scalar for scalar in POOLS if scalar.info.is_comparable]
LISTS: list[list[Any]] = [[], [1], [1, None], [3, 2, 1], list(range(7))]


@dataclass(frozen=True)
class Constants:
    """An argument that must be a constant, with the values to try."""

    scalar: Scalar
    values: tuple[Any, ...]


Argument = Scalar | Constants | str
"""A column of a scalar, a constant, or `list` for a column of lists."""

SIGNATURES: dict[ScalarFunction, list[tuple[Argument, ...]]] = {
    F.LOWER: [(Scalar.STRING,)],
    F.UPPER: [(Scalar.STRING,)],
    F.TRIM: [(Scalar.STRING,)],
    F.LENGTH: [(Scalar.STRING,)],
    F.SUBSTRING: [
        (Scalar.STRING, Scalar.I64),
        (Scalar.STRING, Scalar.I64, Scalar.I64),
        (Scalar.STRING, Constants(Scalar.I64, (0, 2, -2)), Constants(Scalar.I64, (0, 1, 2**40))),
    ],
    F.REPLACE: [
        (Scalar.STRING, Scalar.STRING, Scalar.STRING),
        (Scalar.STRING, Constants(Scalar.STRING, ("a", ",", "")), Constants(Scalar.STRING, ("", "é"))),
    ],
    F.SPLIT: [(Scalar.STRING, Scalar.STRING), (Scalar.STRING, Constants(Scalar.STRING, (",", "", "\\E", ".")))],
    F.CONCAT: [(Scalar.STRING, Scalar.STRING), (Scalar.STRING, Constants(Scalar.STRING, ("x",)), Scalar.STRING)],
    F.REGEX_MATCH: [(Scalar.STRING, Constants(Scalar.STRING, tuple(PATTERNS)))],
    F.REGEX_EXTRACT: [(Scalar.STRING, Constants(Scalar.STRING, tuple(PATTERNS)))],
    F.ABS: [(Scalar.I64,), (Scalar.U64,), (Scalar.F64,), (Scalar.DECIMAL,)],
    F.SIGN: [(Scalar.I64,), (Scalar.U64,), (Scalar.F64,), (Scalar.DECIMAL,)],
    F.ROUND: [
        (Scalar.I64,),
        (Scalar.U64,),
        (Scalar.F64,),
        (Scalar.F64, Constants(Scalar.I64, (0, 1, 2, -2, 20, -400, 400))),
        (Scalar.I64, Constants(Scalar.I64, (0, -1))),
        (Scalar.DECIMAL,),
        (Scalar.DECIMAL, Constants(Scalar.I64, (0, 2, -2, 20))),
    ],
    F.FLOOR: [(Scalar.I64,), (Scalar.U64,), (Scalar.F64,), (Scalar.DECIMAL,)],
    F.CEIL: [(Scalar.I64,), (Scalar.U64,), (Scalar.F64,), (Scalar.DECIMAL,)],
    F.SQRT: [(Scalar.F64,)],
    F.POW: [(Scalar.F64, Scalar.F64)],
    F.LOG: [(Scalar.F64,)],
    F.LEAST: [(scalar, scalar, scalar) for scalar in COMPARABLE],
    F.GREATEST: [(scalar, scalar) for scalar in COMPARABLE],
    **{function: [(Scalar.DATE,), (Scalar.DATETIME,)] for function in (F.YEAR, F.MONTH, F.DAY)},
    **{function: [(Scalar.DATE,), (Scalar.DATETIME,), (Scalar.TIME,)] for function in (F.HOUR, F.MINUTE, F.SECOND)},
    F.DATE_TRUNC: [(Constants(Scalar.STRING, UNITS), scalar) for scalar in (Scalar.DATE, Scalar.DATETIME)],
    F.ADD_MONTHS: [(scalar, Scalar.I64) for scalar in (Scalar.DATE, Scalar.DATETIME)],
    F.ADD_DAYS: [(Scalar.DATE, Scalar.I64)],
    F.ADD_MILLISECONDS: [(Scalar.DATETIME, Scalar.I64)],
    F.DIFFERENCE: [(scalar, scalar) for scalar in (Scalar.DATE, Scalar.DATETIME)],
    F.SIZE: [("list",)],
    F.ITEM: [("list", Scalar.I64), ("list", Constants(Scalar.I64, (0, -1)))],
    F.SLICE: [
        ("list", Scalar.I64, Scalar.I64),
        ("list", Constants(Scalar.I64, (1,)), Constants(Scalar.I64, (2**63 - 1,))),
    ],
    F.COALESCE: [*((scalar, scalar) for scalar in POOLS), ("list", "list")],
    F.NULLIF: [(scalar, scalar) for scalar in COMPARABLE],
    F.ADD_DURATIONS: [(Scalar.DURATION, Scalar.DURATION)],
    F.SCALE_DURATION: [(Scalar.DURATION, Scalar.F64)],
    F.ADD_TO_TIME: [(Scalar.TIME, Scalar.DURATION)],
    F.JSON: [(Scalar.STRING,)],
    F.JSON_AT: [
        (Scalar.JSON, Constants(Scalar.STRING, ("a", "x"))),
        (Scalar.JSON, Constants(Scalar.I64, (0, -1, 3))),
        (Scalar.JSON, Constants(Scalar.STRING, ("a",)), Constants(Scalar.STRING, ("b",))),
    ],
    F.JSON_SIZE: [(Scalar.JSON,)],
    F.JSON_CONTAINS: [(Scalar.JSON, Scalar.JSON)],
    F.JSON_ORDER: [(Scalar.JSON, Scalar.JSON)],
    F.JSON_SET: [(Scalar.JSON, Constants(Scalar.STRING, ("a", "a.b", "[0]", "x[-1].y")), Scalar.JSON)],
}

APPROXIMATE = (F.POW, F.LOG)
"""Functions of the C library and of Java, which differ in the last bits."""


@dataclass(frozen=True)
class Case:
    """An expression over columns, their values row by row, and the values that are expected."""

    name: str
    expression: ir.Expr
    columns: tuple[tuple[ir.Property, tuple[Any, ...]], ...]
    wanted: tuple[Any, ...]
    is_approximate: bool = False

    @property
    def rows(self) -> int:
        return len(self.wanted)

    def arrays(self) -> Iterator[tuple[ir.Property, pa.Array]]:
        for item, values in self.columns:
            yield item, array(values, item.type)


def typed(scalar: Scalar, **more: bool) -> PropertyType:
    """A type of a scalar; all decimals of the cases have the same digits."""
    return PropertyType(scalar, digits=naive_functions.DIGITS if scalar is Scalar.DECIMAL else None, **more)


NUMBERS: dict[pa.DataType, pa.DataType] = {
    pa.date32(): pa.int32(),
    pa.time32("ms"): pa.int32(),
    pa.timestamp("ms", tz="UTC"): pa.int64(),
    pa.duration("ms"): pa.int64(),
}
"""The numbers that stand for days, moments and durations."""


def array(values: Sequence[Any], type_: PropertyType) -> pa.Array:
    """Values as a stored column: days and milliseconds as dates and times."""
    arrow = column_type(type_)
    return pa.array(values, NUMBERS[arrow]).cast(arrow) if arrow in NUMBERS else pa.array(values, arrow)


def cases() -> list[Case]:
    return [*itertools.chain.from_iterable(map(_calls, SIGNATURES)), *_casts()]


def _calls(function: ScalarFunction) -> Iterator[Case]:
    for signature in SIGNATURES[function]:
        fixed = [argument.values if isinstance(argument, Constants) else (None,) for argument in signature]
        for chosen in itertools.product(*fixed):
            yield _case(function, signature, chosen)


def _case(function: ScalarFunction, signature: Sequence[Argument], chosen: Sequence[Any]) -> Case:
    arguments: list[ir.Expr] = []
    pools: list[list[Any]] = []
    for place, (argument, value) in enumerate(zip(signature, chosen, strict=True)):
        if isinstance(argument, Constants):
            arguments.append(ir.Constant(value, typed(argument.scalar)))
            continue
        is_list = not isinstance(argument, Scalar)
        type_ = typed(Scalar.I64 if is_list else argument, is_list=is_list, nullable=True)
        arguments.append(ir.Property(OWNER, str(place), type_))
        pools.append([None, *(LISTS if is_list else POOLS[argument])])
    rows = list(itertools.product(*pools))
    if len(rows) > ROWS_MAX:
        rows = Random(function.value).sample(rows, ROWS_MAX)
    moment = next((item.type.scalar for item in arguments if item.type.scalar.is_temporal), arguments[0].type.scalar)
    kept, wanted = [], []
    for row in rows:
        given = iter(row)
        values = [item.value if isinstance(item, ir.Constant) else next(given) for item in arguments]
        try:
            wanted.append(naive_functions.FUNCTIONS[function](moment, *values))
        except naive_functions.Misfit:
            continue
        kept.append(row)
    expression = ir.Call(function, tuple(arguments), RULES[function].gives(arguments))
    columns = [item for item in arguments if isinstance(item, ir.Property)]
    assert kept, f"{function.value}{chosen} raises for every row, so the case would test nothing"
    values_of = list(zip(*kept, strict=True))
    shown = ", ".join(
        f"{value!r}" if value is not None else str(getattr(one, "value", one))
        for one, value in zip(signature, chosen, strict=True)
    )
    pairs = tuple(zip(columns, values_of, strict=True))
    return Case(f"{function.value}({shown})", expression, pairs, tuple(wanted), function in APPROXIMATE)


def _casts() -> Iterator[Case]:
    for given, wanted in itertools.product(POOLS, POOLS):
        family = wanted.info.family
        if given is wanted or given.info.family not in CASTS[family]:
            continue
        type_ = typed(given, nullable=True)
        operand = ir.Property(OWNER, "0", type_)
        values = (None, *POOLS[given])
        expected = tuple(naive_functions.cast(value, given, wanted) for value in values)
        expression = ir.Cast(operand, typed(wanted, nullable=True))
        yield Case(f"cast {given.value} as {wanted.value}", expression, ((operand, values),), expected)


def plain(column: pa.Array) -> list[Any]:
    """The values of a result as the naive functions give them."""
    values: list[Any] = column.cast(NUMBERS.get(column.type, column.type)).to_pylist()
    return values


def is_same(case: Case, found: Any, wanted: Any) -> bool:
    """Equal, where NaN is itself and zero has one sign."""
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(is_same(case, a, b) for a, b in zip(found, wanted, strict=True))
    if isinstance(found, float) and isinstance(wanted, float):
        if math.isnan(found) or math.isnan(wanted):
            return math.isnan(found) and math.isnan(wanted)
        return found == wanted or (case.is_approximate and math.isclose(found, wanted, rel_tol=1e-14))
    return type(found) is type(wanted) and bool(found == wanted)


def differences(case: Case, found: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows whose value is not the expected one: arguments, value, expectation."""
    given = list(zip(*(values for _, values in case.columns), strict=True)) if case.columns else [()]
    return [
        (row, value, wanted)
        for row, value, wanted in zip(given, found, case.wanted, strict=True)
        if not is_same(case, value, wanted)
    ]


def families() -> set[tuple[Family, Family]]:
    """The pairs of families that casts connect."""
    return {(given, wanted) for wanted, several in CASTS.items() for given in several}
