"""Parameters: what a caller brings, checked against what a query declares, and put into the IR.

``bind_values`` follows the JSON rules of the reference and also takes Python's own dates and times. Undeclared extra
values are ignored; a missing required one is an error.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import date_to_days, datetime_to_milliseconds, parse_date, parse_datetime
from omnigraph.errors import ParameterError
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    AssignmentIR,
    Condition,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    MutationIR,
    ParameterIR,
    QueryIR,
    StatementIR,
    UpdateNodes,
)
from omnigraph.query.rewrite.coerce import coerce_literals
from omnigraph.query.rewrite.tree import map_parts
from omnigraph.schema.types import PropertyType

Values = Mapping[str, ir.Constant]


def bind_values(parameters: Sequence[ParameterIR], given: Mapping[str, object] | None) -> dict[str, ir.Constant]:
    """A typed constant for every declared parameter, or a ParameterError that names the first wrong one."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"parameters must be an object, got {kind_of(given)}")
    values = given or {}
    bound: dict[str, ir.Constant] = {}
    for parameter in parameters:
        value = values.get(parameter.name)
        if value is None and not parameter.type.nullable:
            raise _missing(parameter, parameters, values)
        bound[parameter.name] = ir.Constant(_convert(parameter.name, value, parameter.type), parameter.type)
    return bound


def _missing(parameter: ParameterIR, parameters: Sequence[ParameterIR], values: Mapping[str, object]) -> ParameterError:
    if parameter.name in values:
        message = f"param '{parameter.name}': expected {parameter.type}, got null"
        return ParameterError(message, hint=f"declare it as {parameter.type}? to allow null", parameter=parameter.name)
    hint = None
    if f"${parameter.name}" in values:
        hint = f"name it without the dollar sign: {parameter.name!r}"
    elif unknown := sorted(set(values) - {declared.name for declared in parameters}):
        hint = f"given but not declared: {', '.join(unknown)}"
    return ParameterError(f"parameter '{parameter.name}' not provided", hint=hint, parameter=parameter.name)


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
        case _:
            return type(value).__name__


def _convert(name: str, value: object, type_: PropertyType) -> ir.ConstantValue:
    if value is None:
        return None
    if type_.is_vector:
        return _vector(name, value, type_)
    if type_.is_list:
        if not isinstance(value, list | tuple):
            raise _wrong(name, "array", value)
        return tuple(_scalar(f"{name}[{index}]", item, type_.scalar) for index, item in enumerate(value))
    return _scalar(name, value, type_.scalar)


def _wrong(name: str, wanted: str, value: object) -> ParameterError:
    return ParameterError(f"param '{name}': expected {wanted}, got {kind_of(value)}", parameter=name)


def _vector(name: str, value: object, type_: PropertyType) -> ir.ConstantValue:
    items = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(items, list | tuple):
        raise _wrong(name, f"array of {type_.dimension} numbers", value)
    if len(items) != type_.dimension:
        raise ParameterError(f"param '{name}': expected {type_.dimension} numbers, got {len(items)}", parameter=name)
    return tuple(_number(f"{name}[{index}]", item, Scalar.F32) for index, item in enumerate(items))


def _scalar(name: str, value: object, scalar: Scalar) -> ir.ConstantValue:
    match scalar:
        case Scalar.STRING | Scalar.BLOB:
            if not isinstance(value, str):
                raise _wrong(name, "string", value)
            return value
        case Scalar.BOOL:
            if not isinstance(value, bool):
                raise _wrong(name, "bool", value)
            return value
        case Scalar.DATE | Scalar.DATETIME:
            return _temporal(name, value, scalar)
        case Scalar.F32 | Scalar.F64:
            return _number(name, value, scalar)
        case _:
            return _integer(name, value, scalar)


def _temporal(name: str, value: object, scalar: Scalar) -> int:
    wants_date = scalar is Scalar.DATE
    if isinstance(value, datetime):
        return datetime_to_milliseconds(value) // 86_400_000 if wants_date else datetime_to_milliseconds(value)
    if isinstance(value, date):
        return date_to_days(value) if wants_date else date_to_days(value) * 86_400_000
    if not isinstance(value, str):
        raise _wrong(name, f"{scalar.value} string", value)
    parsed = parse_date(value) if wants_date else parse_datetime(value)
    if parsed is None:
        raise ParameterError(f"param '{name}': {value!r} is not a {scalar.value}", parameter=name)
    return parsed


def _number(name: str, value: object, scalar: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, "number", value)
    try:
        number = float(value)
        if scalar is Scalar.F32 and math.isfinite(number):
            number = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParameterError(f"param '{name}': {value} is not a finite {scalar.value}", parameter=name)
    return number


def _integer(name: str, value: object, scalar: Scalar) -> int:
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
            raise ParameterError(f"param '{name}': expected {scalar.value}, got {value!r}", parameter=name)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "integer", value)
    low, high = INTEGER_RANGES[scalar]
    if not low <= value <= high:
        raise ParameterError(f"param '{name}': {value} is out of range for {scalar.value}", parameter=name)
    return value


# --- into the IR -----------------------------------------------------------------------------------------


def bind_query(query: QueryIR, values: Values, now_ms: int) -> QueryIR:
    """The query with its parameters and the time filled in, its constants coerced to the columns' types."""

    def fill(part: ir.Expr) -> ir.Expr:
        return _fill(part, values, now_ms)

    return replace(query, root=coerce_literals(map_parts(query.root, fill)))


def bind_mutation(mutation: MutationIR, values: Values, now_ms: int) -> MutationIR:
    """The mutation with its parameters and the time filled in."""

    def assign(assignments: tuple[AssignmentIR, ...]) -> tuple[AssignmentIR, ...]:
        return tuple(AssignmentIR(item.property, _fill(item.value, values, now_ms)) for item in assignments)

    def condition(where: Condition) -> Condition:
        return replace(where, value=_fill(where.value, values, now_ms))

    def bind(statement: StatementIR) -> StatementIR:
        match statement:
            case InsertNode():
                return replace(statement, assignments=assign(statement.assignments))
            case InsertEdge():
                source, target = (_fill(end, values, now_ms) for end in (statement.source, statement.target))
                return replace(statement, source=source, target=target, assignments=assign(statement.assignments))
            case UpdateNodes():
                return replace(
                    statement, assignments=assign(statement.assignments), condition=condition(statement.condition)
                )
            case DeleteNodes() | DeleteEdges():
                return replace(statement, condition=condition(statement.condition))

    return replace(mutation, statements=tuple(bind(statement) for statement in mutation.statements))


def _fill(part: ir.Expr, values: Values, now_ms: int) -> ir.Expr:
    match part:
        case ir.Parameter():
            return values[part.name]
        case ir.Now():
            return ir.Constant(now_ms, part.type)
        case ir.ListOf():
            constants = tuple(item.value for item in part.items if isinstance(item, ir.Constant))
            return ir.Constant(constants, part.type) if len(constants) == len(part.items) else part
        case _:
            return part
