"""``limit`` and ``offset``: numbers of rows, written or given by a parameter."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.scalars import INTEGER_RANGES
from omnigraph.errors import ParameterError
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Operator, Slice
from omnigraph.query.rewrite.tree import map_inputs
from omnigraph.query.scope import UNCODED, Context


@dataclass(frozen=True, slots=True)
class Sizes:
    """The rows that a read keeps and skips."""

    limit: int | None = None
    offset: int = 0
    limit_parameter: str | None = None
    offset_parameter: str | None = None

    def applied(self, root: Operator) -> Operator:
        """The rows of an operator, cut as written."""
        if self == Sizes():
            return root
        return Slice(root, self.limit, self.offset, self.limit_parameter, self.offset_parameter)


def check_counts(context: Context, body: ast.ReadBody) -> Sizes:
    """The row counts of a read; a parameter must be an integer."""
    for word, number in (("limit", body.limit), ("offset", body.offset)):
        if isinstance(number, ast.Variable):
            _check_parameter(context, word, number)
    return Sizes(
        body.limit if isinstance(body.limit, int) else None,
        body.offset if isinstance(body.offset, int) else 0,
        body.limit.name if isinstance(body.limit, ast.Variable) else None,
        body.offset.name if isinstance(body.offset, ast.Variable) else None,
    )


def _check_parameter(context: Context, word: str, variable: ast.Variable) -> None:
    given = context.parameters.get(variable.name)
    if given is None:
        hint = context.suggest_variable(variable.name, context.parameters)
        message = f"`{word}` takes a number or a parameter, and `${variable.name}` is not a declared parameter"
        context.error(UNCODED, message, variable.span, hint or f"declare it: `query name(${variable.name}: I64)`")
    elif given.is_list or given.scalar not in INTEGER_RANGES:
        message = f"`{word}` takes an integer, but `${variable.name}` is {given}"
        context.error("T7", message, variable.span)


def with_sizes(operator: Operator, values: Mapping[str, ir.Constant]) -> Operator:
    """The operators with the values of parameters as limits and offsets; null limits nothing and skips nothing."""
    below = map_inputs(operator, lambda item: with_sizes(item, values))
    if not isinstance(below, Slice) or (below.limit_parameter is None and below.offset_parameter is None):
        return below
    limit = below.limit if below.limit_parameter is None else _size(below.limit_parameter, values)
    offset = below.offset if below.offset_parameter is None else _size(below.offset_parameter, values) or 0
    return Slice(below.input, limit, offset)


def _size(name: str, values: Mapping[str, ir.Constant]) -> int | None:
    value = values[name].value
    assert value is None or isinstance(value, int), "the checker admits integers only"
    if value is not None and value < 0:
        raise ParameterError(
            f"param '{name}': expected a number of rows, got {value}", hint="pass 0 or more", parameter=name
        )
    return value
