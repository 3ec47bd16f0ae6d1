"""What a condition in the words of Spark SQL is to storage: the same rows that Spark would find.

Spark casts the column to a type that holds the constant too, and compares there. Here the constant is brought to the
column instead, so that an index can be asked: rounded in the direction that keeps the answer, or the answer is known.
Where both would not be certain to agree the condition is refused. A condition holds where it is true, and is negated
by asking where it is false: what is null is neither.
"""

from __future__ import annotations

import math
import operator as op
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, assert_never

import numpy as np
import pyarrow as pa

from omnigraph.core.limits import SOURCE_CHARS_MAX
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import parse_date, parse_datetime
from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Source, Span
from omnigraph.rows.arrow_casts import WrongColumn, WrongValue, cast_column
from omnigraph.rows.arrow_types import scalar_type
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster import limits
from omnigraph.spark.source import syntax as c
from omnigraph.spark.source.parser import IN_QUOTES, parse_condition
from omnigraph.storage.tables.filters import AllOf, AnyOf, Comparison, Condition, Membership, Missing, Not, Part

CODE = "W001"
"""The code of everything that is wrong with a condition."""

NOTHING = AnyOf(())
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_OPERATORS = {"=": op.eq, "!=": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
_EXACT_DOUBLES = 2**53
"""Whole numbers below are themselves as doubles, and no other number is."""
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
_REAL = re.compile(r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)\s*", re.ASCII | re.I)
_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def read_condition(text: str, columns: Mapping[str, PropertyType]) -> Condition:
    """The condition that a text states; raises CompileError with what is wrong, and where."""
    source = Source(text, "where")
    try:
        if len(text) > SOURCE_CHARS_MAX:
            raise c.Problem(f"the text has {len(text)} characters; at most {SOURCE_CHARS_MAX} are read", Span(0, 1))
        return where(parse_condition(text, columns))
    except c.Problem as problem:
        raise CompileError([Diagnostic(CODE, problem.message, problem.span, source, hint=problem.hint)]) from None


def where(node: c.Node, wanted: bool = True) -> Condition:
    """Where a condition is true, or where it is false."""
    match node:
        case c.Compare(column, operator, constant):
            return _compare(column, operator, constant, wanted)
        case c.OneOf(column, constants):
            return _one_of(column, constants, wanted)
        case c.IsNull(column):
            return _missing(column) if wanted else Not(_missing(column))
        case c.Holds(column, place, text):
            return _holds(column, place, text, wanted)
        case c.Known(value):
            return AllOf(()) if value is wanted else NOTHING
        case c.Not(part):
            return where(part, not wanted)
        case c.And(parts) | c.Or(parts):
            found = tuple(where(part, wanted) for part in parts)
            return AllOf(found) if isinstance(node, c.And) is wanted else AnyOf(found)
        case _:
            assert_never(node)


def _missing(column: c.Column) -> Missing:
    if column.type.is_blob:
        raise c.Problem(f"`{column.name}` ({column.type}) cannot be tested", column.span)
    return Missing(column.name)


def _compare(column: c.Column, operator: str, constant: c.Constant, wanted: bool) -> Condition:
    if operator != "<=>":
        return _compared(column, operator if wanted else _NEGATED[operator], constant)
    if constant.kind is c.Kind.NULL:
        return where(c.IsNull(column), wanted)
    if wanted:
        return _compared(column, "=", constant)
    return AnyOf((_compared(column, "!=", constant), Missing(column.name)))


def _one_of(column: c.Column, constants: Sequence[c.Constant], wanted: bool) -> Condition:
    known = _of_one_type([constant for constant in constants if constant.kind is not c.Kind.NULL])
    if not wanted and len(known) < len(constants):
        return NOTHING
    equal = [part for part in (_compared(column, "=", constant) for constant in known) if part != NOTHING]
    values = [part.value for part in equal if isinstance(part, Comparison)]
    if values and len(values) == len(equal):
        found = Membership(column.name, pa.array(values, values[0].type))
        return found if wanted else Not(found)
    if wanted:
        return AnyOf(tuple(equal))
    return AllOf((Not(Missing(column.name)), *(_compared(column, "!=", constant) for constant in known)))


def _of_one_type(constants: list[c.Constant]) -> list[c.Constant]:
    """The values of a list as Spark compares them: with one double among them, all numbers are doubles."""
    kinds = {constant.kind for constant in constants}
    if kinds == {c.Kind.EXACT, c.Kind.DOUBLE}:
        return [c.Constant(c.Kind.DOUBLE, float(str(each.value)), each.span) for each in constants]
    if len(kinds) > 1:
        raise c.Problem("the values of a list have different types", constants[-1].span)
    return constants


def _holds(column: c.Column, place: c.Place, text: str, wanted: bool) -> Condition:
    if not column.type.is_text:
        raise c.Problem(f"`{column.name}` ({column.type}) is not a text", column.span)
    if not text:
        return Not(Missing(column.name)) if wanted else NOTHING
    if place is not c.Place.START:
        part = Part(column.name, text, at_end=place is c.Place.END)
        return part if wanted else Not(part)
    # Texts that start alike stand together in the order of all texts, where an index finds them.
    after = _text_after(text)
    bounds = [Comparison(column.name, ">=" if wanted else "<", pa.scalar(text))]
    if after is not None:
        bounds.append(Comparison(column.name, "<" if wanted else ">=", pa.scalar(after)))
    return AllOf(tuple(bounds)) if wanted else AnyOf(tuple(bounds))


def _text_after(start: str) -> str | None:
    """The least text that is greater than all that start so."""
    for length in range(len(start), 0, -1):
        code = ord(start[length - 1]) + 1
        if code <= 0x10FFFF:
            # Surrogates are no characters.
            return start[: length - 1] + chr(0xE000 if code == 0xD800 else code)
    return None


# --- comparisons -------------------------------------------------------------------------------------------


def _compared(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    """Where a column that is not null compares so with a constant. Nothing does with null."""
    type_ = column.type
    if not type_.is_plain_scalar:
        raise c.Problem(f"`{column.name}` ({type_}) cannot be compared", column.span)
    if constant.kind is c.Kind.NULL:
        return NOTHING
    return COMPARISONS[type_.scalar](column, operator, constant)


def _whole(column: c.Column, operator: str, value: Decimal, range_: tuple[int, int]) -> Condition:
    """A column of whole numbers against any number: it is rounded, and beyond the range the answer is known."""
    low, high = range_
    bound = math.floor(value) if operator in ("<=", ">") else math.ceil(value)
    if operator in ("=", "!="):
        is_known = bound != value or not low <= bound <= high
        holds = operator == "!="
    else:
        is_known = not low <= bound <= high
        holds = (bound > high) == operator.startswith("<")
    if is_known:
        return Not(Missing(column.name)) if holds else NOTHING
    kind = scalar_type(column.type.scalar)
    plain = pa.int32() if pa.types.is_date(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    return Comparison(column.name, operator, pa.scalar(bound, plain).cast(kind))


def _float(column: c.Column, operator: str, value: float) -> Condition:
    """Spark's order of floats: NaN is equal to NaN and greater than everything else."""
    kind = scalar_type(column.type.scalar)

    def compare(sign: str, number: float) -> Comparison:
        return Comparison(column.name, sign, pa.scalar(number, kind))

    is_nan = AnyOf((compare(">", math.inf), compare("<", -math.inf)))
    is_number = AllOf((compare("<=", math.inf), compare(">=", -math.inf)))
    present = Not(Missing(column.name))
    if math.isnan(value):
        of_nan: dict[str, Condition]
        of_nan = {"=": is_nan, ">=": is_nan, "!=": is_number, "<": is_number, "<=": present, ">": NOTHING}
        return of_nan[operator]
    low, high = _neighbours(value, kind)
    match operator:
        case "=":
            return compare("=", low) if low == high else NOTHING
        case "!=":
            return compare("!=", low) if low == high else present
        case "<" | "<=":
            return AllOf((compare(operator, high if operator == "<" else low), compare(">=", -math.inf)))
        case _:
            return AnyOf((compare(operator, low if operator == ">" else high), compare("<", -math.inf)))


def _neighbours(value: float, kind: pa.DataType) -> tuple[float, float]:
    """The value, or the floats of a narrower column that it is between."""
    if not pa.types.is_float32(kind):
        return value, value
    with np.errstate(over="ignore"):
        near = np.float32(value)
    below = near if float(near) <= value else np.nextafter(near, np.float32(-math.inf))
    above = near if float(near) >= value else np.nextafter(near, np.float32(math.inf))
    return float(below), float(above)


def _boolean(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    value = constant.value
    if constant.kind in (c.Kind.TEXT, c.Kind.PLAIN) and str(value).lower() in ("true", "false"):
        value = str(value).lower() == "true"
    if not isinstance(value, bool):
        raise _unfit(column, constant)
    holding = [each for each in (False, True) if _OPERATORS[operator](each, value)]
    if len(holding) == 1:
        return Comparison(column.name, "=", pa.scalar(holding[0]))
    return Not(Missing(column.name)) if holding else NOTHING


# --- what a constant is to a column ------------------------------------------------------------------------


def _unfit(column: c.Column, constant: c.Constant, hint: str | None = c.ELSEWHERE) -> c.Problem:
    shown = f"{constant.value!r} " if isinstance(constant.value, str) else "this "
    if constant.kind is c.Kind.PLAIN:
        return c.Problem(f"{constant.value!r} does not fit {column.type}", constant.span, IN_QUOTES)
    return c.Problem(f"{shown}is {constant.kind.value}, and `{column.name}` is {column.type}", constant.span, hint)


def _plain(column: c.Column, constant: c.Constant) -> pa.Scalar:
    """A value without quotes, read as a load would read it."""
    try:
        return cast_column(pa.array([constant.value]), column.type, from_texts=True)[0]
    except (WrongValue, WrongColumn):
        raise _unfit(column, constant) from None


def _text(column: c.Column, constant: c.Constant) -> str:
    if constant.kind not in (c.Kind.TEXT, c.Kind.PLAIN):
        raise _unfit(column, constant, IN_QUOTES)
    return str(constant.value)


def _integer(column: c.Column, constant: c.Constant) -> Decimal:
    scalar, value = column.type.scalar, constant.value
    is_double, hint = False, "leave out the quotes"
    match constant.kind:
        case c.Kind.PLAIN:
            return Decimal(_plain(column, constant).as_py())
        case c.Kind.EXACT:
            number = Decimal(str(value))
            if _places(number) > limits.DECIMAL_PLACES_MAX:
                message = f"there are more than {limits.DECIMAL_PLACES_MAX} digits behind the point"
                raise c.Problem(message, constant.span)
        case c.Kind.DOUBLE:
            number, hint = Decimal(float(str(value))), "leave out the exponent"
            is_double = scalar in (Scalar.I64, Scalar.U64)
        case c.Kind.TEXT if _WHOLE.fullmatch(str(value)) and abs(int(str(value))) < 2**63:
            # Spark compares a decimal number, which a U64 is to it, with a text as doubles.
            number, is_double = Decimal(int(str(value))), scalar is Scalar.U64
        case _:
            raise _unfit(column, constant, hint)
    if is_double and abs(number) >= _EXACT_DOUBLES:
        raise c.Problem("Spark compares numbers of this size as doubles, which are not exact", constant.span, hint)
    return number


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _refuse_beyond(column: c.Column, operator: str, constant: c.Constant, value: Decimal) -> None:
    """Spark holds that a decimal number beyond a type is greater, or less, than even its nulls."""
    low, high = INTEGER_RANGES[Scalar.I32 if column.type.scalar is Scalar.I32 else Scalar.I64]
    is_decimal = constant.kind is c.Kind.EXACT and (_places(value) > 0 or not -(2**63) <= value < 2**63)
    if is_decimal and operator not in ("=", "!=") and column.type.scalar is not Scalar.U64 and not low <= value <= high:
        raise c.Problem(f"this number is beyond every {column.type.scalar.value}", constant.span)


def _real(column: c.Column, constant: c.Constant) -> float:
    if constant.kind is c.Kind.PLAIN:
        text = str(constant.value)
        # A load refuses numbers that are not finite; to compare with them is allowed.
        is_finite = _REAL.fullmatch(text) is None or math.isfinite(float(text))
        return float(_plain(column, constant).as_py()) if is_finite else float(text)
    is_text = constant.kind is c.Kind.TEXT and _REAL.fullmatch(str(constant.value))
    if not is_text and constant.kind not in (c.Kind.EXACT, c.Kind.DOUBLE):
        raise _unfit(column, constant)
    return float(str(constant.value))


def _day(column: c.Column, constant: c.Constant) -> Decimal:
    if constant.kind is c.Kind.PLAIN:
        return Decimal(_plain(column, constant).cast(pa.int32()).as_py())
    is_text = constant.kind in (c.Kind.TEXT, c.Kind.DATE) and _DAY.fullmatch(str(constant.value))
    days = parse_date(str(constant.value)) if is_text else None
    if days is None:
        raise _unfit(column, constant, "write a day as '2024-01-31'")
    return Decimal(days)


def _moment(column: c.Column, constant: c.Constant) -> Decimal:
    """Milliseconds."""
    if constant.kind is c.Kind.PLAIN:
        return Decimal(_plain(column, constant).cast(pa.int64()).as_py())
    found = None if constant.kind not in (c.Kind.TEXT, c.Kind.TIMESTAMP) else _MOMENT.fullmatch(str(constant.value))
    milliseconds = parse_datetime(str(constant.value)) if found is not None and found[2] else None
    if found is None or milliseconds is None:
        # To Spark it is a moment of the session's zone, which nobody tells a source.
        raise _unfit(column, constant, "write a time with its zone, as '2024-01-31T12:00:00Z'")
    finer = (found[1] or "").ljust(6, "0")[3:6]
    return milliseconds + Decimal(finer).scaleb(-3)


def _compare_text(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    return Comparison(column.name, operator, pa.scalar(_text(column, constant)))


def _compare_integer(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    value = _integer(column, constant)
    _refuse_beyond(column, operator, constant, value)
    return _whole(column, operator, value, INTEGER_RANGES[column.type.scalar])


def _compare_float(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    return _float(column, operator, _real(column, constant))


def _compare_day(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    return _whole(column, operator, _day(column, constant), INTEGER_RANGES[Scalar.I32])


def _compare_moment(column: c.Column, operator: str, constant: c.Constant) -> Condition:
    return _whole(column, operator, _moment(column, constant), INTEGER_RANGES[Scalar.I64])


COMPARISONS: Final[dict[Scalar, Callable[[c.Column, str, c.Constant], Condition]]] = {
    Scalar.STRING: _compare_text,
    Scalar.BOOL: _boolean,
    Scalar.I32: _compare_integer,
    Scalar.I64: _compare_integer,
    Scalar.U32: _compare_integer,
    Scalar.U64: _compare_integer,
    Scalar.F32: _compare_float,
    Scalar.F64: _compare_float,
    Scalar.DATETIME: _compare_moment,
    Scalar.DATE: _compare_day,
}
"""Comparison of a column with a constant that is not null, for every scalar that can be compared."""
