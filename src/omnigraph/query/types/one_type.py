"""One type for values that come together: the branches of a ``case``, the arguments of ``coalesce``.

A literal takes the type of the values beside it if that type holds it exactly, so that ``coalesce(age, 0)`` has the
type of ``age``. I64 and U64 have no common type: a value of one that the other cannot hold would be lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from omnigraph.core.decimals import Digits, common_digits, fitted
from omnigraph.core.numbers import round_float
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.query import expressions as ir
from omnigraph.query.types.literals import as_json, digits_of
from omnigraph.schema.types import PropertyType

_NUMBER = int | float | Decimal


def common_type(values: Sequence[ir.Expr]) -> PropertyType | None:
    """The type of any of these values; None if there is none. Null literals have any type."""
    typed = [value for value in values if not is_null(value)]
    if not typed:
        return None
    nullable = len(typed) < len(values) or any(value.type.nullable for value in typed)
    first = typed[0].type
    if any(value.type.is_list != first.is_list or value.type.dimension != first.dimension for value in typed):
        return None
    if any(value.type.is_json for value in typed):
        return PropertyType(Scalar.JSON, nullable=nullable)
    if any(value.type.digits for value in typed):
        return _common_decimal(typed, nullable=nullable)
    scalar = _common_scalar(typed)
    if scalar is None or first.is_blob:
        return None
    enums = {value.type.enum_values for value in typed}
    values_of_enum = first.enum_values if len(enums) == 1 else None
    return PropertyType(scalar, first.is_list, nullable, first.dimension, values_of_enum)


def _common_decimal(values: Sequence[ir.Expr], *, nullable: bool) -> PropertyType | None:
    """The decimal that holds all values; F64 if one of them is a float and no literal."""
    if not all(value.type.scalar.is_numeric for value in values):
        return None
    if any(value.type.scalar.is_float and not isinstance(value, ir.Constant) for value in values):
        is_list = values[0].type.is_list
        return None if is_list else PropertyType(Scalar.F64, nullable=nullable)
    digits: Digits | None = digits_of(values[0])
    for value in values[1:]:
        digits = None if digits is None else common_digits(digits, digits_of(value))
    if digits is None or (values[0].type.is_list and any(value.type.digits != digits for value in values)):
        return None
    return PropertyType(Scalar.DECIMAL, values[0].type.is_list, nullable, digits=digits)


def is_null(value: ir.Expr) -> bool:
    """True for the literal ``null``."""
    return isinstance(value, ir.Constant) and value.value is None


def _common_scalar(values: Sequence[ir.Expr]) -> Scalar | None:
    scalars = {value.type.scalar for value in values}
    if len(scalars) == 1:
        return scalars.pop()
    if not all(scalar.is_numeric for scalar in scalars) or any(value.type.is_list for value in values):
        return None
    # Literals adapt, so the other values decide; with literals alone, their own types do.
    firm = {value.type.scalar for value in values if not isinstance(value, ir.Constant)} or scalars
    wide = _wider(firm)
    if wide is None:
        return None
    for candidate in (wide, Scalar.I64, Scalar.F64):
        is_wide_enough = candidate is wide or _wider({wide, candidate}) is candidate
        constants = [value for value in values if isinstance(value, ir.Constant)]
        if is_wide_enough and all(holds(candidate, constant.value) for constant in constants):
            return candidate
    return None


def _wider(scalars: set[Scalar]) -> Scalar | None:
    """The number type that holds all values of some, as far as a float holds integers; None for I64 and U64."""
    if len(scalars) == 1:
        return next(iter(scalars))
    if any(scalar.is_float for scalar in scalars):
        return Scalar.F64
    if Scalar.U64 not in scalars:
        return Scalar.I64
    return Scalar.U64 if scalars <= {Scalar.U32, Scalar.U64} else None


def holds(scalar: Scalar, value: ir.ConstantValue) -> bool:
    """True if a number type represents a value exactly."""
    if not isinstance(value, int | float):
        return True
    if scalar.is_integer:
        low, high = INTEGER_RANGES[scalar]
        return isinstance(value, int) and low <= value <= high
    return math.isfinite(number := round_float(value, scalar)) and number == value


def converted(value: ir.Expr, wanted: PropertyType) -> ir.Expr:
    """A value in a type that holds it."""
    if is_null(value):
        return ir.Constant(None, replace(wanted, nullable=True))
    if wanted.is_json:
        return as_json(value)
    if value.type.scalar is wanted.scalar and value.type.digits == wanted.digits:
        return value
    if wanted.digits is not None and isinstance(value, ir.Constant) and isinstance(value.value, _NUMBER):
        return ir.Constant(fitted(value.value, wanted.digits), replace(wanted, nullable=False))
    if isinstance(value, ir.Constant) and isinstance(value.value, int | float):
        number = round_float(value.value, wanted.scalar) if wanted.scalar.is_float else value.value
        return ir.Constant(number, PropertyType(wanted.scalar))
    return ir.Cast(value, replace(wanted, is_list=value.type.is_list, nullable=value.type.nullable, enum_values=None))
