"""Values in the type of what stands beside them: texts as UUIDs, numbers as decimals, anything as Json."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from omnigraph.core.decimals import DIGITS_MAX, Digits, as_decimal
from omnigraph.core.json_values.texts import json_text
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import format_date, format_datetime, format_duration, format_time
from omnigraph.core.uuids import parse_uuid
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType

JSON: Final = PropertyType(Scalar.JSON)
TEXTS: Final[dict[Scalar, Callable[[int], str]]] = {
    Scalar.DATE: format_date,
    Scalar.DATETIME: format_datetime,
    Scalar.TIME: format_time,
    Scalar.DURATION: format_duration,
}
"""ISO texts of the scalars whose constants are numbers of days or milliseconds."""


def beside(value: ir.Expr, other: ir.Expr) -> ir.Expr:
    """A value as it is compared with another one: in the type of that one, if it has to be."""
    if other.type.is_json and not value.type.is_json and not value.type.is_list:
        return as_json(value)
    if other.type.scalar is Scalar.UUID and isinstance(value, ir.Constant) and isinstance(value.value, str):
        found = parse_uuid(value.value) if value.type.is_text else None
        return value if found is None else ir.Constant(found, PropertyType(Scalar.UUID))
    if other.type.digits is not None and isinstance(value, ir.Constant) and value.type.scalar.is_float:
        return _written(value)
    return value


def _written(literal: ir.Constant) -> ir.Constant:
    """A literal with a fraction, or a list of some, as the decimals that are written: 0.1 is no float."""
    values = literal.value if isinstance(literal.value, tuple) else (literal.value,)
    numbers = [as_decimal(value) for value in values if isinstance(value, int | float)]
    types = [written_digits(number) for number in numbers] or [(1, 0)]
    scale = max(places for _, places in types)
    digits = min(max(precision - places for precision, places in types) + scale, DIGITS_MAX), scale
    type_ = PropertyType(Scalar.DECIMAL, literal.type.is_list, digits=digits)
    return ir.Constant(tuple(numbers) if literal.type.is_list else numbers[0], type_)


def as_json(value: ir.Expr) -> ir.Expr:
    """A value as a JSON value: dates and times are texts, a list is an array."""
    if value.type.is_json:
        return value
    if isinstance(value, ir.Constant):
        made = None if value.value is None else json_text(plain(value))
        return ir.Constant(made, PropertyType(Scalar.JSON, nullable=value.type.nullable))
    return ir.Cast(value, PropertyType(Scalar.JSON, nullable=value.type.nullable))


def plain(constant: ir.Constant) -> object:
    """The value of a constant as JSON has it; that of a Json constant is its text."""
    value = constant.value
    if isinstance(value, tuple):
        return [plain(ir.Constant(item, constant.type.item)) for item in value]
    return TEXTS[constant.type.scalar](value) if isinstance(value, int) and constant.type.scalar in TEXTS else value


def digits_of(value: ir.Expr) -> Digits:
    """The digits of a number in the arithmetic of decimals; those of a literal are the ones it is written with."""
    if value.type.digits is not None:
        return value.type.digits
    if isinstance(value, ir.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        return written_digits(as_decimal(value.value))
    return {Scalar.I32: (10, 0), Scalar.U32: (10, 0)}.get(value.type.scalar, (20, 0))


def written_digits(number: Decimal) -> Digits:
    """The smallest type that holds a number."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "a finite number has an exponent"
    scale = max(-exponent, 0)
    return min(max(len(digits) + max(exponent, 0), scale, 1), DIGITS_MAX), min(scale, DIGITS_MAX)
