"""Translation of Spark SQL predicates to storage filters that select the same rows as Spark.

Spark casts the column to a type that also holds the constant. The translation casts the constant to the column's type
instead, so that an index applies. It rounds in the direction that preserves the result, or folds the comparison to a
constant. A predicate for which equality with Spark is not certain is refused.

Three-valued logic: a filter selects rows for which the predicate is true. Negation selects rows for which it is false,
so rows for which it is null are in neither.
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

from omnigraph.core.decimals import around, parse_decimal
from omnigraph.core.limits import SOURCE_CHARS_MAX
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import parse_date, parse_datetime
from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Source, Span
from omnigraph.rows.arrow_types import item_type
from omnigraph.rows.casting.arrow_casts import cast_column
from omnigraph.rows.casting.problems import WrongColumn, WrongValue
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster import limits
from omnigraph.spark.source import syntax as c
from omnigraph.spark.source.parser import IN_QUOTES, parse_predicate
from omnigraph.storage.tables.filters import AllOf, AnyOf, Comparison, Membership, Missing, Not, RowFilter, Substring

CODE = "W001"
"""The code of every error in ``where``."""

NOTHING = AnyOf(())
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_OPERATORS = {"=": op.eq, "!=": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
_EXACT_DOUBLES = 2**53
"""Below this magnitude a double represents every integer exactly and uniquely."""
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
_REAL = re.compile(r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)\s*", re.ASCII | re.I)
_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def read_filter(text: str, columns: Mapping[str, PropertyType]) -> RowFilter:
    """Parse and translate a text; raises CompileError with the position of the error."""
    source = Source(text, "where")
    try:
        if len(text) > SOURCE_CHARS_MAX:
            raise c.Problem(f"the text has {len(text)} characters; the maximum is {SOURCE_CHARS_MAX}", Span(0, 1))
        return where(parse_predicate(text, columns))
    except c.Problem as problem:
        raise CompileError([Diagnostic(CODE, problem.message, problem.span, source, hint=problem.hint)]) from None


def where(node: c.Node, wanted: bool = True) -> RowFilter:
    """The filter for rows on which a predicate is true, or false with ``wanted=False``."""
    match node:
        case c.Compare(column, operator, constant):
            return _compare(column, operator, constant, wanted)
        case c.OneOf(column, constants):
            return _one_of(column, constants, wanted)
        case c.IsNull(column):
            return _missing(column) if wanted else Not(_missing(column))
        case c.Holds(column, position, text):
            return _holds(column, position, text, wanted)
        case c.Known(value):
            return AllOf(()) if value is wanted else NOTHING
        case c.Not(operand):
            return where(operand, not wanted)
        case c.And(operands) | c.Or(operands):
            # De Morgan: a negated conjunction is the disjunction of the negated conjuncts, and vice versa.
            found = tuple(where(operand, wanted) for operand in operands)
            return AllOf(found) if isinstance(node, c.And) is wanted else AnyOf(found)
        case _:
            assert_never(node)


def _missing(column: c.Column) -> Missing:
    if column.type.is_blob:
        raise c.Problem(f"`{column.name}` ({column.type}) cannot be tested", column.span)
    return Missing(column.name)


def _compare(column: c.Column, operator: str, constant: c.Constant, wanted: bool) -> RowFilter:
    if operator != "<=>":
        return _compared(column, operator if wanted else _NEGATED[operator], constant)
    if constant.kind is c.Kind.NULL:
        return where(c.IsNull(column), wanted)
    if wanted:
        return _compared(column, "=", constant)
    return AnyOf((_compared(column, "!=", constant), Missing(column.name)))


def _one_of(column: c.Column, constants: Sequence[c.Constant], wanted: bool) -> RowFilter:
    known = _of_one_type([constant for constant in constants if constant.kind is not c.Kind.NULL])
    # `x not in (..., null)` is never true: x might equal the null.
    if not wanted and len(known) < len(constants):
        return NOTHING
    equal = [each for each in (_compared(column, "=", constant) for constant in known) if each != NOTHING]
    values = [each.value for each in equal if isinstance(each, Comparison)]
    if values and len(values) == len(equal):
        found = Membership(column.name, pa.array(values, values[0].type))
        return found if wanted else Not(found)
    if wanted:
        return AnyOf(tuple(equal))
    return AllOf((Not(Missing(column.name)), *(_compared(column, "!=", constant) for constant in known)))


def _of_one_type(constants: list[c.Constant]) -> list[c.Constant]:
    """The values of a list in their common type: one double makes all numbers doubles, as in Spark."""
    kinds = {constant.kind for constant in constants}
    if kinds == {c.Kind.EXACT, c.Kind.DOUBLE}:
        return [c.Constant(c.Kind.DOUBLE, float(str(each.value)), each.span) for each in constants]
    if len(kinds) > 1:
        raise c.Problem("the values of a list have different types", constants[-1].span)
    return constants


def _holds(column: c.Column, position: c.TextPosition, text: str, wanted: bool) -> RowFilter:
    if not column.type.is_text:
        raise c.Problem(f"`{column.name}` ({column.type}) is not a text", column.span)
    if not text:
        return Not(Missing(column.name)) if wanted else NOTHING
    if position is not c.TextPosition.START:
        part = Substring(column.name, text, at_end=position is c.TextPosition.END)
        return part if wanted else Not(part)
    # Texts with a common prefix are one range in sort order, so a B-tree index applies.
    after = _text_after(text)
    bounds = [Comparison(column.name, ">=" if wanted else "<", pa.scalar(text))]
    if after is not None:
        bounds.append(Comparison(column.name, "<" if wanted else ">=", pa.scalar(after)))
    return AllOf(tuple(bounds)) if wanted else AnyOf(tuple(bounds))


def _text_after(start: str) -> str | None:
    """The smallest text greater than every text with the prefix; None if there is none."""
    for length in range(len(start), 0, -1):
        code = ord(start[length - 1]) + 1
        if code <= 0x10FFFF:
            # Surrogates (D800 to DFFF) are not characters and cannot be encoded.
            return start[: length - 1] + chr(0xE000 if code == 0xD800 else code)
    return None


def _compared(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    """Comparison of a column with a constant; never true if either is null."""
    type_ = column.type
    if not type_.is_plain_scalar:
        raise c.Problem(f"`{column.name}` ({type_}) cannot be compared", column.span)
    if constant.kind is c.Kind.NULL:
        return NOTHING
    return COMPARISONS[type_.scalar](column, operator, constant)


def _whole(column: c.Column, operator: str, value: Decimal, range_: tuple[int, int]) -> RowFilter:
    """Comparison of an integer column with any number: the number is rounded; beyond the type's range it is folded."""
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
    kind = item_type(column.type)
    plain = pa.int32() if pa.types.is_date(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    return Comparison(column.name, operator, pa.scalar(bound, plain).cast(kind))


def _float(column: c.Column, operator: str, value: float) -> RowFilter:
    """Comparison in Spark's order of floats: NaN equals NaN and is greater than every other value."""
    kind = item_type(column.type)

    def compare(sign: str, number: float) -> Comparison:
        return Comparison(column.name, sign, pa.scalar(number, kind))

    is_nan = AnyOf((compare(">", math.inf), compare("<", -math.inf)))
    is_number = AllOf((compare("<=", math.inf), compare(">=", -math.inf)))
    present = Not(Missing(column.name))
    if math.isnan(value):
        of_nan: dict[str, RowFilter]
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
    """The value twice, or for a float32 column the nearest floats below and above it."""
    if not pa.types.is_float32(kind):
        return value, value
    with np.errstate(over="ignore"):
        near = np.float32(value)
    below = near if float(near) <= value else np.nextafter(near, np.float32(-math.inf))
    above = near if float(near) >= value else np.nextafter(near, np.float32(math.inf))
    return float(below), float(above)


def _boolean(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    value = constant.value
    if constant.kind in (c.Kind.TEXT, c.Kind.PLAIN) and str(value).lower() in ("true", "false"):
        value = str(value).lower() == "true"
    if not isinstance(value, bool):
        raise _unfit(column, constant)
    holding = [each for each in (False, True) if _OPERATORS[operator](each, value)]
    if len(holding) == 1:
        return Comparison(column.name, "=", pa.scalar(holding[0]))
    return Not(Missing(column.name)) if holding else NOTHING


def _unfit(column: c.Column, constant: c.Constant, hint: str | None = c.FILTER_THE_FRAME) -> c.Problem:
    shown = f"{constant.value!r} " if isinstance(constant.value, str) else "this "
    if constant.kind is c.Kind.PLAIN:
        return c.Problem(f"{constant.value!r} does not fit {column.type}", constant.span, IN_QUOTES)
    return c.Problem(f"{shown}is {constant.kind.value}, and `{column.name}` is {column.type}", constant.span, hint)


def _plain(column: c.Column, constant: c.Constant) -> pa.Scalar:
    """An unquoted value, parsed as a load parses it."""
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
                message = f"more than {limits.DECIMAL_PLACES_MAX} digits after the decimal point"
                raise c.Problem(message, constant.span)
        case c.Kind.DOUBLE:
            number, hint = Decimal(float(str(value))), "leave out the exponent"
            is_double = scalar in (Scalar.I64, Scalar.U64)
        case c.Kind.TEXT if _WHOLE.fullmatch(str(value)) and abs(int(str(value))) < 2**63:
            # A U64 is a decimal in Spark, and Spark compares a decimal with a text as doubles.
            number, is_double = Decimal(int(str(value))), scalar is Scalar.U64
        case _:
            raise _unfit(column, constant, hint)
    if is_double and abs(number) >= _EXACT_DOUBLES:
        raise c.Problem("Spark compares numbers of this size as doubles, which is not exact", constant.span, hint)
    return number


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _refuse_beyond(column: c.Column, operator: str, constant: c.Constant, value: Decimal) -> None:
    """Refuse ordering against a decimal outside the column's type: Spark then also selects nulls."""
    low, high = INTEGER_RANGES[Scalar.I32 if column.type.scalar is Scalar.I32 else Scalar.I64]
    is_decimal = constant.kind is c.Kind.EXACT and (_places(value) > 0 or not -(2**63) <= value < 2**63)
    if is_decimal and operator not in ("=", "!=") and column.type.scalar is not Scalar.U64 and not low <= value <= high:
        raise c.Problem(f"this number is outside the range of {column.type.scalar.value}", constant.span)


def _real(column: c.Column, constant: c.Constant) -> float:
    if constant.kind is c.Kind.PLAIN:
        text = str(constant.value)
        # A load refuses non-finite numbers, but comparing with them is valid.
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
        raise _unfit(column, constant, "write a day like '2024-01-31'")
    return Decimal(days)


def _moment(column: c.Column, constant: c.Constant) -> Decimal:
    """Milliseconds since the epoch, with microseconds as a fraction."""
    if constant.kind is c.Kind.PLAIN:
        return Decimal(_plain(column, constant).cast(pa.int64()).as_py())
    found = None if constant.kind not in (c.Kind.TEXT, c.Kind.TIMESTAMP) else _MOMENT.fullmatch(str(constant.value))
    milliseconds = parse_datetime(str(constant.value)) if found is not None and found[2] else None
    if found is None or milliseconds is None:
        # Spark would read it in the session's time zone, which a data source does not know.
        raise _unfit(column, constant, "write a time with its zone, like '2024-01-31T12:00:00Z'")
    finer = (found[1] or "").ljust(6, "0")[3:6]
    return milliseconds + Decimal(finer).scaleb(-3)


def _converted(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    """Comparison with a text that is read as a load reads it: UUIDs, times of day, durations, decimals."""
    if constant.kind not in (c.Kind.TEXT, c.Kind.PLAIN, c.Kind.EXACT):
        raise _unfit(column, constant, IN_QUOTES)
    try:
        found = cast_column(pa.array([str(constant.value)]), column.type, from_texts=True)[0]
    except (WrongValue, WrongColumn):
        raise _unfit(column, constant) from None
    return Comparison(column.name, operator, found)


def _compare_decimal(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    """Comparison with any number: one with more places is rounded in the direction of the operator."""
    if constant.kind is c.Kind.DOUBLE:
        # Spark compares a decimal with a double as doubles, which is not exact.
        raise _unfit(column, constant, "leave out the exponent")
    number = parse_decimal(str(constant.value))
    if number is None or constant.kind not in (c.Kind.EXACT, c.Kind.PLAIN, c.Kind.TEXT):
        raise _unfit(column, constant)
    assert column.type.digits is not None, "a decimal has digits"
    below, above = around(number, column.type.digits)
    is_exact = below is not None and below == above
    present = Not(Missing(column.name))
    kind = item_type(column.type)
    if not is_exact and operator in ("=", "!="):
        return present if operator == "!=" else NOTHING
    bound = below if operator in ("<=", ">") or is_exact else above
    if bound is None:
        holds = (above is None) == operator.startswith("<")
        return present if holds else NOTHING
    return Comparison(column.name, operator, pa.scalar(bound, kind))


def _compare_text(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    return Comparison(column.name, operator, pa.scalar(_text(column, constant)))


def _compare_integer(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    value = _integer(column, constant)
    _refuse_beyond(column, operator, constant, value)
    return _whole(column, operator, value, INTEGER_RANGES[column.type.scalar])


def _compare_float(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    return _float(column, operator, _real(column, constant))


def _compare_day(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    return _whole(column, operator, _day(column, constant), INTEGER_RANGES[Scalar.I32])


def _compare_moment(column: c.Column, operator: str, constant: c.Constant) -> RowFilter:
    return _whole(column, operator, _moment(column, constant), INTEGER_RANGES[Scalar.I64])


COMPARISONS: Final[dict[Scalar, Callable[[c.Column, str, c.Constant], RowFilter]]] = {
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
    Scalar.DECIMAL: _compare_decimal,
    Scalar.TIME: _converted,
    Scalar.DURATION: _converted,
    Scalar.UUID: _converted,
}
"""Comparison of a column with a constant that is not null, for every scalar that can be compared."""
