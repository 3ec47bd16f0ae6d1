"""Parameter binding: supplied values are checked against declarations and inserted into the IR.

``types/supplied.py`` reads single values. An undeclared value is an error, as a missing one is: a misspelled name must
not be a silent null.
``bind_query`` and ``bind_mutation`` also run the checks that need the values, before execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.python_values import plain_value
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, ParameterError
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    AssignmentIR,
    Column,
    DeleteEdges,
    DeleteNodes,
    EntityStatement,
    ForMatches,
    ForRecords,
    InsertEdge,
    InsertNode,
    MutationIR,
    ParameterIR,
    QueryIR,
    StatementIR,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.rewrite.coerce import coerce_literals, coerce_predicate
from omnigraph.query.rewrite.tree import map_parts
from omnigraph.query.shaping.counts import with_sizes
from omnigraph.query.types.supplied import convert, kind_of, shorten, wrong_kind
from omnigraph.query.values import scalar_problem, stored
from omnigraph.query.variables import transform
from omnigraph.schema.patterns import pattern_problem
from omnigraph.schema.types import PropertyType

Values = Mapping[str, ir.Constant]


def bind_values(parameters: Sequence[ParameterIR], given: Mapping[str, object] | None) -> dict[str, ir.Constant]:
    """A typed constant per declared parameter; raises ParameterError for the first invalid one."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(
            f"parameters must be an object, got {kind_of(given)} {shorten(given)}",
            hint=Hint('pass a dict: params={"name": "Ada"}', """pass an object: --params '{"name": "Ada"}'"""),
        )
    values = given or {}
    _refuse_undeclared(parameters, values)
    bound: dict[str, ir.Constant] = {}
    for parameter in parameters:
        if parameter.fields:
            bound[parameter.name] = ir.Constant(_records(parameter, values), parameter.type)
            continue
        value = plain_value(values.get(parameter.name))
        if value is None and not parameter.type.nullable:
            raise _missing(parameter, values)
        try:
            converted = convert(parameter.name, value, parameter.type)
        except ParameterError as error:
            raise ParameterError(
                error.message, hint=f"the query declares {_declared(parameter)}", **error.facts
            ) from None
        bound[parameter.name] = ir.Constant(converted, parameter.type)
    return bound


def _records(parameter: ParameterIR, values: Mapping[str, object]) -> ir.ConstantValue:
    """The fields of every record of a list, in the order of their declaration. A field that is left out is null."""
    given = values.get(parameter.name)
    if given is None:
        raise _missing(parameter, values)
    if not isinstance(given, list | tuple):
        raise wrong_kind(parameter.name, "array of objects", given)
    names = [field.name for field in parameter.fields]
    records: list[ir.ConstantValue] = []
    for index, record in enumerate(given):
        place = f"{parameter.name}[{index}]"
        if not isinstance(record, Mapping):
            raise wrong_kind(place, "object", record)
        if len(record.keys() - names):
            unknown = next(name for name in record if name not in names)
            hint = did_you_mean(str(unknown), names) or f"its fields are {', '.join(names)}"
            raise ParameterError(f"param '{place}': unknown field {unknown!r}", hint=hint, parameter=parameter.name)
        records.append(tuple(_field(place, field, record) for field in parameter.fields))
    return tuple(records)


def _field(place: str, field: ParameterIR, record: Mapping[str, object]) -> ir.ConstantValue:
    value = plain_value(record.get(field.name))
    if value is None and not field.type.nullable:
        hint = f"declare it as {field.type}? to allow null"
        raise ParameterError(
            f"param '{place}.{field.name}': expected {field.type}, got null", hint=hint, parameter=place
        )
    return convert(f"{place}.{field.name}", value, field.type)


def _refuse_undeclared(parameters: Sequence[ParameterIR], values: Mapping[str, object]) -> None:
    declared = {parameter.name for parameter in parameters}
    if values.keys() <= declared:
        return
    unknown = [name for name in values if name not in declared]
    more = f", and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    name = str(unknown[0])
    if name.startswith("$") and name[1:] in declared:
        meant: str | None = f"name it without the dollar sign: {name[1:]!r}"
    else:
        meant = did_you_mean(name, sorted(declared))
    known = ", ".join(map(_declared, parameters)) or "no parameters"
    hint = "; ".join(part for part in (meant, f"the query declares {known}") if part)
    raise ParameterError(f"the query has no parameter {unknown[0]!r}{more}", hint=hint, parameter=name)


def _declared(parameter: ParameterIR) -> str:
    return f"${parameter.name}: {parameter.spelled_type}"


def _missing(parameter: ParameterIR, values: Mapping[str, object]) -> ParameterError:
    if parameter.name in values:
        message = f"param '{parameter.name}': expected {parameter.type}, got null"
        return ParameterError(message, hint=f"declare it as {parameter.type}? to allow null", parameter=parameter.name)
    hint = Hint(
        f'pass it, the query declares {_declared(parameter)}: params={{"{parameter.name}": ...}}',
        f"""pass it, the query declares {_declared(parameter)}: --params '{{"{parameter.name}": ...}}'""",
    )
    return ParameterError(f"parameter '{parameter.name}' not provided", hint=hint, parameter=parameter.name)


Fold = Callable[[ir.Expr], ir.Expr]
"""Replaces an expression of constants by its value; computing values is the executor's."""


def bind_query(query: QueryIR, values: Values, now_ms: int, fold: Fold = lambda part: part) -> QueryIR:
    """The query with parameters and time replaced by constants, folded and coerced to the columns' types."""

    def fill(part: ir.Expr) -> ir.Expr:
        return fold(_fill(part, values, now_ms))

    return replace(query, root=coerce_literals(map_parts(with_sizes(query.root, values), fill)))


def bind_mutation(mutation: MutationIR, values: Values, now_ms: int, fold: Fold = lambda part: part) -> MutationIR:
    """The mutation with parameters and time replaced by constants; raises if a property cannot hold its value."""

    def fill(part: ir.Expr) -> ir.Expr:
        return fold(_fill(part, values, now_ms))

    def assign(assignments: tuple[AssignmentIR, ...]) -> tuple[AssignmentIR, ...]:
        return tuple(replace(item, value=fit(item.value, item.property, item.type)) for item in assignments)

    def fit(value: ir.Expr, name: str, wanted: PropertyType) -> ir.Expr:
        # Not folded: a value that does not fit is a violation of the entity, which the executor reports.
        return _fit(value, transform(value, lambda part: _fill(part, values, now_ms)), name, wanted)

    def typed(value: ir.Expr | None, end: str) -> ir.Expr | None:
        return None if value is None else fit(value, f"{end}_type", ir.TEXT)

    def predicate(where: ir.Expr) -> ir.Expr:
        return coerce_predicate(transform(where, fill))

    def write(statement: EntityStatement) -> EntityStatement:
        match statement:
            case InsertNode():
                return replace(statement, assignments=assign(statement.assignments), returning=shown(statement))
            case InsertEdge():
                return replace(
                    statement,
                    source=fit(statement.source, "from", ir.TEXT),
                    target=fit(statement.target, "to", ir.TEXT),
                    source_type=typed(statement.source_type, "from"),
                    target_type=typed(statement.target_type, "to"),
                    assignments=assign(statement.assignments),
                    returning=shown(statement),
                )
            case UpdateNodes() | UpdateEdges():
                where = predicate(statement.predicate)
                assignments = assign(statement.assignments)
                return replace(statement, assignments=assignments, predicate=where, returning=shown(statement))
            case DeleteNodes() | DeleteEdges():
                return replace(statement, predicate=predicate(statement.predicate), returning=shown(statement))

    def shown(statement: EntityStatement) -> tuple[Column, ...]:
        return tuple(replace(item, expression=transform(item.expression, fill)) for item in statement.returning)

    def bind(statement: StatementIR) -> StatementIR:
        match statement:
            case ForMatches():
                root = coerce_literals(map_parts(statement.root, fill))
                return replace(statement, root=root, statements=tuple(map(write, statement.statements)))
            case ForRecords():
                records = values[statement.parameter].value
                assert isinstance(records, tuple), "a list of records is a tuple of tuples"
                return replace(statement, records=records, statements=tuple(map(write, statement.statements)))
            case _:
                return write(statement)

    return replace(mutation, statements=tuple(bind(statement) for statement in mutation.statements))


def _fill(part: ir.Expr, values: Values, now_ms: int) -> ir.Expr:
    match part:
        case ir.Parameter():
            return values[part.name]
        case ir.Now():
            return ir.Constant(now_ms, part.type)
        case ir.ListOf():
            constants = tuple(item.value for item in part.items if isinstance(item, ir.Constant))
            return _list_constant(constants, part.type) if len(constants) == len(part.items) else part
        case ir.Call(ScalarFunction.REGEX_MATCH | ScalarFunction.REGEX_EXTRACT, (_, ir.Constant(value=str() as text))):
            problem = pattern_problem(text)
            if problem is not None:
                raise ParameterError(
                    f"the pattern {shorten(text)} is invalid: {problem}", hint="write it in RE2 syntax"
                )
            return part
        case ir.Rrf(k=ir.Constant(value=int() as k)) if k <= 0:
            raise ParameterError(f"the constant of `rrf` must be a positive integer, not {k}")
        case _:
            return part


def _list_constant(items: tuple[ir.ConstantValue, ...], type_: PropertyType) -> ir.Constant:
    """A homogeneous list. Integers that no float represents exactly are refused: rounding would change membership."""
    values = tuple(stored(item, type_) for item in items)
    for item, value in zip(items, values, strict=True):
        if isinstance(item, int) and item != value:
            raise ParameterError(
                f"{item} stands in a list with floats, and no {type_.scalar.value} is exactly that number",
                hint="use one number type for the list",
            )
    return ir.Constant(values, type_)


def _fit(written: ir.Expr, value: ir.Expr, name: str, wanted: PropertyType) -> ir.Expr:
    """A parameter's value converted to the property's type; literals were converted at compile time."""
    if not isinstance(written, ir.Parameter) or not isinstance(value, ir.Constant):
        return value
    problem: str | None = None
    if value.value is None:
        problem = None if wanted.nullable else f"{wanted} cannot be null"
    elif wanted.is_list and isinstance(value.value, tuple):
        items = (ir.Constant(item, value.type.item) for item in value.value)
        problem = next((found for item in items if (found := scalar_problem(item, wanted.item))), None)
    elif not wanted.is_vector:
        problem = scalar_problem(value, wanted)
    if problem is not None:
        message = f"param '{written.name}': {shorten(value.value)} does not fit `{name}`: {problem}"
        raise ParameterError(message, parameter=written.name)
    return ir.Constant(stored(value.value, wanted), wanted)
