"""Functions with a form of their own (T29): ``if`` and ``case``, ``cast``, ``any`` and ``all``, ``type`` and ``id``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from omnigraph.core.decimals import DIGITS_MAX, fitted, parse_decimal
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Family, Scalar
from omnigraph.core.temporal import parse_date, parse_datetime, parse_time
from omnigraph.core.uuids import parse_uuid
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind, report_gone, suggest_variable
from omnigraph.query.types.calls import Check, as_common, check_values, described, is_node
from omnigraph.query.types.literals import written_digits
from omnigraph.schema.types import PropertyType, type_from_syntax

_NUMBERS: Final = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)
_WRITTEN: Final = (Family.TEXT, Family.BOOLEAN, *_NUMBERS, Family.TEMPORAL, Family.TIME, Family.DURATION, Family.UUID)
CASTS: Final[dict[Family, tuple[Family, ...]]] = {
    Family.TEXT: (*_WRITTEN, Family.JSON),
    Family.BOOLEAN: (Family.BOOLEAN, Family.TEXT, Family.JSON),
    Family.INTEGER: (*_NUMBERS, Family.TEXT, Family.BOOLEAN, Family.DURATION, Family.JSON),
    Family.FLOAT: (*_NUMBERS, Family.TEXT, Family.BOOLEAN, Family.JSON),
    Family.DECIMAL: (*_NUMBERS, Family.TEXT, Family.BOOLEAN, Family.JSON),
    Family.TEMPORAL: (Family.TEMPORAL, Family.TEXT, Family.JSON),
    Family.TIME: (Family.TIME, Family.TEMPORAL, Family.TEXT, Family.JSON),
    Family.DURATION: (Family.DURATION, Family.INTEGER, Family.TEXT, Family.JSON),
    Family.UUID: (Family.UUID, Family.TEXT, Family.JSON),
    Family.JSON: (*_WRITTEN, Family.JSON),
}
"""The families that a value of each family can be cast from."""


def check_cast(context: Context, operand: ir.Expr, wanted: PropertyType, at: ast.Expr) -> ir.Expr | None:
    """``cast(operand as Type)``."""
    family = wanted.scalar.info.family
    if wanted.is_list or family not in CASTS:
        context.error("T29", f"`cast` makes single values, not {wanted}", at.span)
        return None
    is_value = operand.type.is_plain_scalar or operand.type.is_json
    if is_node(operand) or not is_value or operand.type.scalar.info.family not in CASTS[family]:
        hint = "the difference of two dates is a number: `x - y`" if operand.type.scalar.is_temporal else None
        context.error("T29", f"{described(operand)} cannot be cast to {wanted.scalar.value}", at.span, hint)
        return None
    if operand.type.form == wanted.form:
        return operand
    # A value outside of the other type's range, or a text that does not denote one, is null.
    always = family in (Family.TEXT, Family.JSON) or (wanted.scalar is Scalar.F64 and operand.type.scalar.is_numeric)
    return ir.Cast(operand, replace(wanted, nullable=operand.type.nullable or not always))


def check_written_cast(context: Context, node: ast.Cast, check: Check) -> ir.Expr | None:
    """A cast with the type as it was written."""
    operand = check(node.operand)
    wanted = type_from_syntax(node.type)
    if wanted.nullable:
        context.error("T29", f"write the type without `?`: `cast(... as {node.type.name})`", node.type.span)
        return None
    return None if operand is None else check_cast(context, operand, wanted, node)


CONVERSIONS: Final = {
    "date": (Scalar.DATE, parse_date),
    "datetime": (Scalar.DATETIME, parse_datetime),
    "time": (Scalar.TIME, parse_time),
    "uuid": (Scalar.UUID, parse_uuid),
}
"""Functions that are casts, with the scalar and the parser of its texts."""


def check_conversion(context: Context, node: ast.Call, check: Check) -> ir.Expr | None:
    """``date(x)``, ``datetime(x)``, ``time(x)`` and ``uuid(x)`` are casts. A literal must denote a value (T3)."""
    operand = check(node.arguments[0])
    scalar, parse = CONVERSIONS[node.function]
    if isinstance(operand, ir.Constant) and operand.type.is_text:
        found = parse(str(operand.value))
        if found is None:
            context.error("T3", f"{operand.value!r} is not a {scalar.value}", node.arguments[0].span)
            return None
        return ir.Constant(found, PropertyType(scalar))
    return None if operand is None else check_cast(context, operand, PropertyType(scalar), node)


def check_decimal(context: Context, node: ast.Call) -> ir.Expr | None:
    """``decimal("12.30")``: a number with exactly the digits that are written."""
    text = node.arguments[0]
    is_text = isinstance(text, ast.Literal) and isinstance(text.value, str)
    number = parse_decimal(str(text.value)) if is_text and isinstance(text, ast.Literal) else None
    digits = None if number is None else written_digits(number)
    found = None if number is None or digits is None else fitted(number, digits)
    if found is None or digits is None:
        hint = 'write `decimal("12.30")`; another value is converted with `cast(x as Decimal(10, 2))`'
        message = f"`decimal` takes the text of a number of at most {DIGITS_MAX} digits"
        context.error("T29", message, text.span, hint)
        return None
    return ir.Constant(found, PropertyType(Scalar.DECIMAL, digits=digits))


def check_if(context: Context, node: ast.Call, check: Check) -> ir.Expr | None:
    """``if(condition, a, b)``: b also where the condition is null."""
    condition, value, otherwise = node.arguments
    branch = ast.Branch(condition, value, node.span)
    return check_case(context, ast.Case(None, (branch,), otherwise, node.span), check)


def check_case(context: Context, node: ast.Case, check: Check) -> ir.Expr | None:
    """``case``; without ``else`` it is null where no condition is true."""
    null = ast.Literal(ast.LiteralKind.NULL, None, node.span)
    conditions = [_condition(context, node.subject, branch, check) for branch in node.branches]
    values = check_values([*(branch.value for branch in node.branches), node.otherwise or null], check)
    known = [condition for condition in conditions if condition is not None]
    if values is None or len(known) < len(conditions):
        return None
    if any(is_node(value) for value in values):
        context.error("T29", "a node is no value of a `case`", node.span, "use a property or `id($x)`")
        return None
    alike = as_common(context, values, node, "the values")
    if alike is None:
        return None
    *chosen, otherwise = alike
    type_ = replace(alike[0].type, nullable=any(value.type.nullable for value in alike), enum_values=None)
    return ir.Case(tuple(zip(known, chosen, strict=True)), otherwise, type_)


def _condition(context: Context, subject: ast.Expr | None, branch: ast.Branch, check: Check) -> ir.Expr | None:
    node = branch.condition
    if subject is not None:
        return check(ast.Binary(BinaryOperator.EQ, subject, node, node.span))
    condition = check(node)
    if condition is not None and (condition.type.scalar is not Scalar.BOOL or condition.type.is_list):
        context.error("T7", f"a condition must be true or false, this is {described(condition)}", node.span)
        return None
    return condition


CheckIn = Callable[[Scope, ast.Expr], ir.Expr | None]


def check_quantified(context: Context, scope: Scope, node: ast.Quantified, check: CheckIn) -> ir.Expr | None:
    """``any($item in list where predicate)``; the item is visible in the predicate alone."""
    name, items = node.variable.name, check(scope, node.items)
    if scope.lookup(name) is not None or name in context.parameters:
        context.error(UNCODED, f"`${name}` is already bound", node.variable.span, "choose another name")
        return None
    if items is None:
        return None
    if not items.type.is_list:
        message = f"`{node.quantifier.value}` looks at the items of a list, not of {described(items)}"
        context.error("T29", message, node.items.span)
        return None
    inner = Scope(scope, has_matches=False)
    inner.bind(BoundVariable(name, VariableKind.VALUE, "", type=replace(items.type.item, nullable=True)))
    predicate = check(inner, node.predicate)
    if predicate is None:
        return None
    if predicate.type.scalar is not Scalar.BOOL or predicate.type.is_list:
        message = f"the items are tested with a predicate, this is {described(predicate)}"
        context.error("T7", message, node.predicate.span)
        return None
    return ir.Quantified(node.quantifier, name, items, predicate)


def check_entity_function(context: Context, scope: Scope, node: ast.Call) -> ir.Expr | None:
    """``type($x)`` and ``id($x)`` of a node or edge."""
    argument = node.arguments[0]
    bound = scope.lookup(argument.name) if isinstance(argument, ast.Variable) else None
    if bound is None or bound.kind not in (VariableKind.NODE, VariableKind.EDGE):
        if isinstance(argument, ast.Variable) and scope.is_broken(argument.name):
            return None
        if report_gone(context, bound, argument.span):
            return None
        hint = suggest_variable(context, scope, argument.name) if isinstance(argument, ast.Variable) else None
        context.error("T29", f"`{node.function}` takes a variable of a node or edge", argument.span, hint)
        return None
    text = ir.OPTIONAL_TEXT if bound.optional else ir.TEXT
    if node.function == "id":
        return ir.EntityId(bound.name, text, is_text=True)
    # A statement behind a match over several types reads the type of each row.
    varies = bound.name in context.interfaces and not scope.has_matches
    is_known = not bound.optional and not varies
    return ir.Constant(bound.type_name, ir.TEXT) if is_known else ir.TypeName(bound.name, bound.type_name, text)
