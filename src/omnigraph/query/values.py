"""Literals and parameters where a property's value is expected: binding matches and assignments."""

from __future__ import annotations

import math
from decimal import Decimal

from omnigraph.core.decimals import fitted
from omnigraph.core.json_values.texts import json_text
from omnigraph.core.numbers import round_f32, round_float
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import parse_date, parse_datetime
from omnigraph.core.uuids import parse_uuid
from omnigraph.lang.gq_ast import Call, Expr, ListLiteral, Literal, LiteralKind, Variable
from omnigraph.query.expressions import Constant, ConstantValue, Now, Parameter
from omnigraph.query.expressions import Expr as TypedExpr
from omnigraph.query.scope import UNCODED, Context
from omnigraph.query.types.literals import JSON, TEXTS, as_json, plain
from omnigraph.schema.types import PropertyType

_LITERAL_SCALARS = {
    LiteralKind.STRING: Scalar.STRING,
    LiteralKind.INTEGER: Scalar.I64,
    LiteralKind.FLOAT: Scalar.F64,
    LiteralKind.BOOL: Scalar.BOOL,
    LiteralKind.DATE: Scalar.DATE,
    LiteralKind.DATETIME: Scalar.DATETIME,
}


def check_literal(context: Context, literal: Literal) -> Constant | None:
    """A scalar literal with its own type; None if an error was reported."""
    if literal.kind is LiteralKind.NULL:
        context.error(UNCODED, "`null` is only a value of an assignment", literal.span, "test with `is null`")
        return None
    scalar = _LITERAL_SCALARS[literal.kind]
    value: ConstantValue = literal.value
    if literal.kind in (LiteralKind.DATE, LiteralKind.DATETIME):
        parse = parse_date if literal.kind is LiteralKind.DATE else parse_datetime
        value = parse(str(literal.value))
        if value is None:
            hint = 'write `date("2024-05-31")` or `datetime("2024-05-31T12:00:00Z")`'
            context.error("T3", f"{literal.value!r} is not a {scalar.value}", literal.span, hint)
            return None
    if literal.kind is LiteralKind.INTEGER and isinstance(value, int):
        if value > INTEGER_RANGES[Scalar.I64][1]:
            scalar = Scalar.U64
        if value < INTEGER_RANGES[Scalar.I64][0]:
            context.error("T3", f"{value} is below the smallest I64", literal.span)
            return None
    if isinstance(value, float) and not math.isfinite(value):
        context.error("T3", "the number is too large for an F64", literal.span)
        return None
    return Constant(value, PropertyType(scalar))


def check_vector_literal(literal: ListLiteral, dimension: int | None) -> Constant | None:
    """A list of numbers as a vector; None if the dimension differs (without reporting)."""
    numbers: list[float] = []
    for item in literal.items:
        if not isinstance(item, Literal) or item.kind not in (LiteralKind.INTEGER, LiteralKind.FLOAT):
            return None
        assert isinstance(item.value, int | float)
        numbers.append(round_f32(float(item.value)))
    if len(numbers) != dimension or not all(map(math.isfinite, numbers)):
        return None
    return Constant(tuple(numbers), PropertyType(Scalar.VECTOR, dimension=dimension))


def check_value(
    context: Context, value: Expr, name: str, wanted: PropertyType, *, unbound_code: str = UNCODED
) -> TypedExpr | None:
    """A value for an assignment: converted to exactly the property's type, or reported."""
    match value:
        case Variable():
            return _check_parameter(context, value, name, wanted, unbound_code)
        case Call(function="now"):
            if wanted.scalar is not Scalar.DATETIME or wanted.is_list:
                context.error("T7", f"`now()` is a DateTime, but `{name}` is {wanted}", value.span)
                return None
            return Now()
        case ListLiteral():
            return _check_list(context, value, name, wanted)
        case Literal():
            return _check_scalar(context, value, name, wanted)
        case _:
            context.error(UNCODED, "only literals, parameters and `now()` can be assigned", value.span)
            return None


def _check_parameter(
    context: Context, value: Variable, name: str, wanted: PropertyType, unbound_code: str
) -> TypedExpr | None:
    given = context.parameters.get(value.name)
    if given is None:
        hint = context.suggest_parameter(value.name)
        context.error(unbound_code, f"`${value.name}` is not a declared parameter", value.span, hint)
        return None
    accepted = given.is_compatible_with(wanted) or (wanted.is_blob and given.is_text)
    if accepted and given.scalar.is_float and (wanted.scalar.is_integer or wanted.digits is not None):
        accepted = False
    if wanted.is_json and not given.is_json and not given.is_blob and not given.is_vector:
        return as_json(Parameter(value.name, given))
    if not accepted:
        context.error("T7", f"`${value.name}` is {given}, but `{name}` is {wanted}", value.span)
        return None
    return Parameter(value.name, given)


def _check_list(context: Context, value: ListLiteral, name: str, wanted: PropertyType) -> TypedExpr | None:
    if wanted.is_json:
        return check_array(context, value)
    if wanted.is_vector:
        constant = check_vector_literal(value, wanted.dimension)
        if constant is None:
            message = f"`{name}` is {wanted}: {wanted.dimension} finite numbers are expected"
            context.error("T3", message, value.span)
        return constant
    if not wanted.is_list:
        context.error("T3", f"a list does not fit `{name}`, which is {wanted}", value.span)
        return None
    items: list[ConstantValue] = []
    for item in value.items:
        if not isinstance(item, Literal):
            context.error("T3", "a list that is assigned holds literals only", item.span)
            return None
        constant = _check_scalar(context, item, name, wanted.item)
        if constant is None:
            return None
        items.append(constant.value)
    return Constant(tuple(items), wanted)


def check_array(context: Context, value: ListLiteral) -> Constant | None:
    """A list of literals as a JSON array, whose items may be of any kind, null included."""
    items: list[object] = []
    for item in value.items:
        if not isinstance(item, Literal):
            context.error("T3", "a list that is assigned holds literals only", item.span)
            return None
        constant = Constant(None, JSON) if item.kind is LiteralKind.NULL else check_literal(context, item)
        if constant is None:
            return None
        items.append(plain(constant))
    return Constant(json_text(items), JSON)


def _check_scalar(context: Context, literal: Literal, name: str, wanted: PropertyType) -> Constant | None:
    if literal.kind is LiteralKind.NULL:
        if not wanted.nullable:
            context.error("T3", f"`{name}` is {wanted} and cannot be null", literal.span)
            return None
        return Constant(None, wanted)
    constant = check_literal(context, literal)
    if constant is None:
        return None
    if wanted.is_json:
        made = as_json(constant)
        return made if isinstance(made, Constant) else None
    problem = scalar_problem(constant, wanted)
    if problem is not None:
        context.error("T3", f"{shown(literal)} does not fit `{name}`: {problem}", literal.span, _hint(literal, wanted))
        return None
    return Constant(stored(constant.value, wanted), wanted)


def stored(value: ConstantValue, wanted: PropertyType) -> ConstantValue:
    """A fitting value converted to the property's representation."""
    if isinstance(value, tuple):
        return tuple(stored(item, wanted) for item in value)
    if isinstance(value, int | float | Decimal) and wanted.digits is not None:
        return fitted(value, wanted.digits)
    if isinstance(value, int | float) and wanted.scalar.is_float:
        return round_float(value, wanted.scalar)
    if isinstance(value, Decimal):
        return int(value) if wanted.scalar.is_integer else round_float(float(value), wanted.scalar)
    if wanted.scalar is Scalar.UUID and isinstance(value, str):
        return parse_uuid(value)
    return value


def scalar_problem(constant: Constant, wanted: PropertyType) -> str | None:
    """The reason a property of that type cannot store a scalar constant; None if it can."""
    value, given = constant.value, constant.type
    if wanted.is_list or wanted.is_vector:
        return f"{wanted} is expected, not {given}"
    if wanted.is_blob:
        return None if given.is_text or given.is_blob else "a Blob is written as a string"
    if wanted.enum_values is not None and isinstance(value, str) and value not in wanted.enum_values:
        return f"expected one of {', '.join(wanted.enum_values)}"
    if wanted.digits is not None and isinstance(value, int | float | Decimal) and given.scalar.is_numeric:
        precision, scale = wanted.digits
        found = fitted(value, wanted.digits)
        return None if found is not None else f"expected at most {precision} digits, {scale} of them behind the point"
    if isinstance(value, Decimal) and wanted.scalar.is_integer:
        if value != value.to_integral_value():
            return f"{wanted.scalar.value} holds whole numbers"
        value, given = int(value), PropertyType(Scalar.I64)
    if isinstance(value, Decimal) and wanted.scalar.is_float:
        return None if math.isfinite(float(value)) else f"{wanted.scalar.value} cannot hold it"
    if wanted.scalar is Scalar.UUID and given.is_text:
        return None if parse_uuid(str(value)) is not None else "a UUID is expected"
    if wanted.scalar.is_integer and given.scalar.is_integer and isinstance(value, int):
        low, high = INTEGER_RANGES[wanted.scalar]
        return None if low <= value <= high else f"{wanted.scalar.value} holds {low} to {high}"
    if wanted.scalar.is_float and given.scalar.is_numeric:
        assert isinstance(value, int | float)
        number = round_float(value, wanted.scalar)
        # A float may be rounded to the property's width; an integer must be represented exactly.
        fits = math.isfinite(number) and (isinstance(value, float) or number == value)
        return None if fits else f"{wanted.scalar.value} cannot hold it"
    return None if given.scalar is wanted.scalar else f"{wanted} is expected, not {given}"


def _hint(literal: Literal, wanted: PropertyType) -> str | None:
    if literal.kind is LiteralKind.STRING and wanted.scalar in TEXTS:
        return f'write `{wanted.scalar.value.lower()}("{literal.value}")`'
    return None


def shown(literal: Literal) -> str:
    """The spelling of a literal in messages."""
    text = f'"{literal.value}"' if isinstance(literal.value, str) else str(literal.value)
    if literal.kind is LiteralKind.BOOL:
        text = text.lower()
    return text if len(text) <= 60 else text[:57] + "..."
