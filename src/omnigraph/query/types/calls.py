"""Calls of the functions in the table (T29): arguments in the types that a function computes with, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context
from omnigraph.query.types.one_type import common_type, converted, is_null
from omnigraph.query.types.rule_kinds import PATTERN, Kind, Nulls
from omnigraph.query.types.rules import RULES
from omnigraph.schema.patterns import pattern_problem
from omnigraph.schema.types import PropertyType

Check = Callable[[ast.Expr], ir.Expr | None]
"""Checks an operand in the scope and at the place of the call."""

CALLED: Final = {function.value: function for function in ScalarFunction if function.is_written}
"""Functions by the names that queries call them by."""


def check_function(context: Context, node: ast.Call, check: Check) -> ir.Expr | None:
    """The typed form of a call by name."""
    arguments = check_values(node.arguments, check)
    return None if arguments is None else call(context, CALLED[node.function], arguments, node.arguments, node)


def check_values(nodes: Sequence[ast.Expr], check: Check) -> list[ir.Expr] | None:
    """Values that may be ``null``, a Constant whose type the others decide; None if one was reported."""
    checked = [_null(node) or check(node) for node in nodes]
    known = [value for value in checked if value is not None]
    return known if len(known) == len(checked) else None


def _null(node: ast.Expr) -> ir.Constant | None:
    is_literal = isinstance(node, ast.Literal) and node.kind is ast.LiteralKind.NULL
    return ir.Constant(None, ir.OPTIONAL_TEXT) if is_literal else None


def call(
    context: Context, function: ScalarFunction, arguments: Sequence[ir.Expr], nodes: Sequence[ast.Expr], at: ast.Expr
) -> ir.Expr | None:
    """A call with converted arguments, or None if something was reported."""
    rule = RULES[function]
    name = function.value if function.is_written else rule.signature
    computed: list[ir.Expr] = []
    for place, (argument, node) in enumerate(zip(arguments, nodes, strict=True)):
        kind = rule.takes[min(place, len(rule.takes) - 1)]
        problem = _problem(kind, argument)
        if problem is not None:
            context.error("T29", f"`{name}` takes {problem}", node.span, _hint(kind, argument))
            return None
        computed.append(argument if rule.alike else converted(argument, _computed(kind, argument)))
    if rule.alike:
        alike = as_common(context, computed, at, f"the arguments of `{name}`")
        if alike is None:
            return None
        computed = alike
    elif rule.nulls is not Nulls.OWN and any(map(is_null, computed)):
        context.error("T29", f"`{name}` of null is always null", at.span)
        return None
    return ir.Call(function, tuple(computed), rule.gives(computed))


def _computed(kind: Kind, argument: ir.Expr) -> PropertyType:
    """The type that a function computes with."""
    return replace(kind.computed(argument.type), is_list=argument.type.is_list)


def as_common(context: Context, values: Sequence[ir.Expr], at: ast.Expr, what: str) -> list[ir.Expr] | None:
    """The values in their common type; reported if they have none."""
    type_ = common_type(values)
    if type_ is None:
        shown = ", ".join(dict.fromkeys(map(described, values)))
        hint = "give them one type with `cast(value as Type)`"
        context.error("T29", f"{what} have no common type: {shown}", at.span, hint)
        return None
    return [converted(value, type_) for value in values]


def is_node(value: ir.Expr) -> bool:
    """True for a bare node variable, which stands for the node and not for its id."""
    return isinstance(value, ir.EntityId) and not value.is_text


def described(value: ir.Expr) -> str:
    """A value as messages describe it."""
    return "null" if is_null(value) else "a node" if is_node(value) else str(value.type)


def _problem(kind: Kind, argument: ir.Expr) -> str | None:
    """The end of the sentence "`f` takes ..." if an argument does not fit."""
    if is_node(argument) or not (is_null(argument) or kind.accepts(argument.type)):
        return f"{kind.expects}, not {described(argument)}"
    if kind.is_constant and not isinstance(argument, ir.Constant | ir.Parameter):
        return f"{kind.expects}, not an expression"
    if kind.values is not None and not (isinstance(argument, ir.Constant) and argument.value in kind.values):
        return kind.expects
    if kind is PATTERN and isinstance(argument, ir.Constant) and isinstance(argument.value, str):
        problem = pattern_problem(argument.value)
        return None if problem is None else f"a valid pattern: {problem}"
    return None


def _hint(kind: Kind, argument: ir.Expr) -> str | None:
    if isinstance(argument, ir.EntityId) and is_node(argument):
        return f"read a property, or its id: `id(${argument.variable})`"
    if argument.type.is_list and not kind.is_list:
        return "take an item, `list[0]`, or test the items, `any($item in list where ...)`"
    if argument.type.is_text and kind.is_list:
        return "the number of characters of a text is `length(text)`, a part of it `substring(text, start, length)`"
    if kind.expects == "a text" and argument.type.is_plain_scalar:
        return "make a text of it: `cast(value as String)`"
    return None


def item(context: Context, node: ast.Index, check: Check) -> ir.Expr | None:
    """``list[index]``, or a step into a JSON value."""
    nodes = (node.operand, node.index)
    arguments = check_values(nodes, check)
    if arguments is None:
        return None
    if arguments[0].type.is_json:
        return step_into(context, arguments[0], arguments[1], nodes, node)
    return call(context, ScalarFunction.ITEM, arguments, nodes, node)


def step_into(
    context: Context, value: ir.Expr, step: ir.Expr, nodes: tuple[ast.Expr, ast.Expr], at: ast.Expr
) -> ir.Expr | None:
    """A member or an item of a JSON value; the steps of a path are arguments of one call."""
    made = call(context, ScalarFunction.JSON_AT, (value, step), nodes, at)
    is_path = isinstance(value, ir.Call) and value.function is ScalarFunction.JSON_AT
    if is_path and isinstance(value, ir.Call) and isinstance(made, ir.Call):
        return ir.Call(made.function, (*value.arguments, *made.arguments[1:]), made.type)
    return made


def member(context: Context, node: ast.Member, check: Check) -> ir.Expr | None:
    """``json.name``."""
    value = check(node.operand)
    if value is None:
        return None
    if not value.type.is_json:
        message = f"`.{node.name.text}` reads a member of a Json value, not of {described(value)}"
        context.error("T6", message, node.name.span)
        return None
    step = ir.Constant(node.name.text, ir.TEXT)
    return step_into(context, value, step, (node.operand, node.operand), node)


def part(context: Context, node: ast.Slice, check: Check) -> ir.Expr | None:
    """``list[start:stop]``; a missing bound is an end of the list."""
    first = ast.Literal(ast.LiteralKind.INTEGER, 0, node.span)
    last = ast.Literal(ast.LiteralKind.INTEGER, INTEGER_RANGES[Scalar.I64][1], node.span)
    nodes = (node.operand, node.start or first, node.stop or last)
    arguments = check_values(nodes, check)
    return None if arguments is None else call(context, ScalarFunction.SLICE, arguments, nodes, node)


def text_sum(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """``a + b`` of two texts; a sum of several is one call."""
    parts: list[ir.Expr] = []
    for side in (left, right):
        is_sum = isinstance(side, ir.Call) and side.function is ScalarFunction.CONCAT
        parts.extend(side.arguments if is_sum and isinstance(side, ir.Call) else (side,))
    return ir.Call(ScalarFunction.CONCAT, tuple(parts), RULES[ScalarFunction.CONCAT].gives(parts))
