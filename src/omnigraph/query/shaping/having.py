"""``having``: a condition on the columns of groups.

It reads what ``return`` returns: by alias, or written as there. Each such part is checked as a value of the column's
type, by the rules of any other expression.
"""

from __future__ import annotations

from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind
from omnigraph.query.typecheck import check_predicate
from omnigraph.query.variables import transform

_COLUMN = "#column"
"""Prefix of the variables that stand for columns; the grammar does not allow it in a query."""


def check_having(
    context: Context,
    scope: Scope,
    body: ast.ReadBody,
    columns: tuple[Column, ...],
    places: tuple[int, ...],
    *,
    aggregates: bool,
) -> ir.Expr | None:
    """The condition over ``Output`` columns, or None if there is none or an error was reported."""
    if body.having is None:
        return None
    if not aggregates:
        hint = "put the condition into `match`"
        context.error("T9", "`having` filters groups, and this query has no aggregate", body.having.span, hint)
        return None
    names = {f"{_COLUMN}{place}": column for place, column in enumerate(columns)}
    values = Scope()
    for name, column in names.items():
        values.bind(BoundVariable(name, VariableKind.VALUE, "", type=column.expression.type))
    written = _Returned(context, scope, body, places).replaced(body.having)
    predicate = None if written is None else check_predicate(context, values, written)
    return None if predicate is None else transform(predicate, _by_position)


def _by_position(part: ir.Expr) -> ir.Expr:
    if isinstance(part, ir.Item) and part.variable.startswith(_COLUMN):
        return ir.Output(int(part.variable.removeprefix(_COLUMN)), part.type)
    return part


def _is_its_id(node: ast.Expr, shown: ast.Expr) -> bool:
    """True for ``id($p)`` beside ``$p`` or ``$p.*``, whose first column is the id."""
    if not isinstance(node, ast.Call) or node.function != "id" or len(node.arguments) != 1:
        return False
    entity = shown.variable if isinstance(shown, ast.PropertyAccess) and ast.is_entity(shown) else shown
    return isinstance(entity, ast.Variable) and entity == node.arguments[0]


class _Returned:
    """Replaces the parts of an expression that are returned by variables of their columns."""

    def __init__(self, context: Context, scope: Scope, body: ast.ReadBody, places: tuple[int, ...]) -> None:
        self._context, self._scope, self._body, self._places = context, scope, body, places
        self._failed = False

    def replaced(self, node: ast.Expr) -> ast.Expr | None:
        changed = self._replace(node)
        return None if self._failed else changed

    def _replace(self, node: ast.Expr) -> ast.Expr:
        for place, projection in zip(self._places, self._body.projections, strict=True):
            shown = projection.expression
            is_alias = isinstance(node, ast.AliasRef) and projection.alias == node.name
            if shown == node or is_alias or _is_its_id(node, shown):
                return ast.Variable(f"{_COLUMN}{place}", node.span)
        if isinstance(node, ast.AliasRef):
            self._report_alias(node)
        elif self._is_read(node):
            self._failed = True
            message = "`having` can only read what is returned"
            self._context.error("T9", message, node.span, "add it to `return`")
        else:
            return ast.with_children(node, self._replace)
        return node

    def _report_alias(self, node: ast.AliasRef) -> None:
        self._failed = True
        name = node.name.text
        hint = self._context.suggest(name, [item.alias.text for item in self._body.projections if item.alias])
        if hint is None and self._scope.lookup(name):
            hint = f"write `${name}`"
        self._context.error(UNCODED, f"no alias `{name}` is returned", node.span, hint)

    def _is_read(self, node: ast.Expr) -> bool:
        """True for an aggregate, a block and a variable of the match; parameters and items of lists are values."""
        match node:
            case ast.Aggregate() | ast.Exists():
                return True
            case ast.Variable(name) | ast.PropertyAccess(variable=ast.Variable(name)):
                return self._scope.lookup(name) is not None
            case ast.Call(function="type" | "id", arguments=(ast.Variable(name),)):
                return self._scope.lookup(name) is not None
            case _:
                return False
