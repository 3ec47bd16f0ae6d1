"""Function calls: ``now``, the full-text predicates and the rankings, with their argument rules (T15, T19 to T21)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context, Scope, VariableKind, suggest_variable
from omnigraph.query.values import check_vector_literal
from omnigraph.schema.types import PropertyType

CheckOperand = Callable[[Context, Scope, ast.Expr], ir.Expr | None]
RRF_K = 60


def check_call(
    context: Context, scope: Scope, node: ast.Call, allow_ranking: bool, check: CheckOperand
) -> ir.Expr | None:
    """The typed form of a call. Rankings are accepted only with ``allow_ranking``."""
    match node.function:
        case "now":
            return ir.Now()
        case "search" | "match_text" | "fuzzy":
            return _check_search(context, scope, node, check)
    if not allow_ranking:
        message = f"`{node.function}` ranks rows; it stands in `order` or `return`, not in a filter"
        context.error("T7", message, node.span)
        return None
    match node.function:
        case "nearest":
            return check_nearest(context, scope, node, check)
        case "bm25":
            return _check_bm25(context, scope, node, check)
        case "rrf":
            return _check_rrf(context, scope, node, check)
        case _:
            raise AssertionError(f"the parser let an unknown function pass: {node.function}")


def _check_search(context: Context, scope: Scope, node: ast.Call, check: CheckOperand) -> ir.Expr | None:
    code = "T20" if node.function == "match_text" else "T19"
    texts = _check_text_arguments(context, scope, node, code, check)
    if texts is None:
        return None
    if node.function != "fuzzy":
        return ir.Search(ir.SearchKind.SEARCH, *texts)
    edits: ir.Expr | None = None
    if len(node.arguments) == 3:
        edits = check(context, scope, node.arguments[2])
        if edits is None:
            return None
        if not edits.type.scalar.is_integer or edits.type.is_list:
            context.error(code, f"the edits of `fuzzy` must be an integer, not {edits.type}", node.arguments[2].span)
            return None
    return ir.Search(ir.SearchKind.FUZZY, *texts, edits)


def _check_text_arguments(
    context: Context, scope: Scope, node: ast.Call, code: str, check: CheckOperand
) -> tuple[ir.Expr, ir.Expr] | None:
    field_node, query_node = node.arguments[:2]
    if _targets_edge(context, scope, field_node, node):
        return None
    field = check(context, scope, field_node)
    query = check(context, scope, query_node)
    if field is None or query is None:
        return None
    if not isinstance(field, ir.Property) or not field.type.is_text:
        what = field.type if isinstance(field, ir.Property) else "another expression"
        context.error(code, f"`{node.function}` searches a String property, not {what}", field_node.span)
        return None
    if not query.type.is_text:
        context.error(code, f"the query of `{node.function}` must be a String, not {query.type}", query_node.span)
        return None
    if not isinstance(query, ir.Constant | ir.Parameter):
        context.error(code, f"the query of `{node.function}` must be a literal or a parameter", query_node.span)
        return None
    return field, query


def _targets_edge(context: Context, scope: Scope, field: ast.Expr, node: ast.Call) -> bool:
    if isinstance(field, ast.PropertyAccess):
        bound = scope.lookup(field.variable.name)
        if bound is not None and bound.kind is VariableKind.EDGE:
            message = f"`{node.function}` works on nodes; `${bound.name}` is an edge"
            context.error("T23", message, field.span)
            return True
    return False


def check_nearest(context: Context, scope: Scope, node: ast.Call, check: CheckOperand) -> ir.Nearest | None:
    """``nearest($v.vector, query)``: every mistake in its shape is a T15."""
    target, query_node = node.arguments
    assert isinstance(target, ast.PropertyAccess), "the grammar allows nothing else"
    vector = _check_vector_property(context, scope, node, target)
    if vector is None:
        return None
    wanted = vector.type
    if isinstance(query_node, ast.ListLiteral):
        constant = check_vector_literal(query_node, wanted.dimension)
        if constant is None:
            message = f"`{target.property.text}` is {wanted}: the query must be {wanted.dimension} finite numbers"
            context.error("T15", message, query_node.span)
        return None if constant is None else ir.Nearest(vector, constant)
    query = check(context, scope, query_node)
    if query is None:
        return None
    if not isinstance(query, ir.Constant | ir.Parameter):
        context.error("T15", "the query of `nearest` must be a literal or a parameter", query_node.span)
        return None
    is_vector = query.type.is_vector and query.type.dimension == wanted.dimension
    if not is_vector and not query.type.is_text:
        message = f"`{target.property.text}` is {wanted}; it cannot be compared with {query.type}"
        context.error("T15", message, query_node.span)
        return None
    return ir.Nearest(vector, query)


def _check_vector_property(
    context: Context, scope: Scope, node: ast.Call, target: ast.PropertyAccess
) -> ir.Property | None:
    name = target.variable.name
    bound = scope.lookup(name)
    if bound is None and scope.is_broken(name):
        return None
    if bound is None:
        hint = suggest_variable(context, scope, name)
        context.error("T15", f"`${name}` is not bound", target.variable.span, hint)
        return None
    if _targets_edge(context, scope, target, node):
        return None
    properties = context.catalog.nodes[bound.type_name].properties if bound.kind is VariableKind.NODE else {}
    declared = properties.get(target.property.text)
    if declared is None or not declared.type.is_vector:
        vectors = [prop.name for prop in properties.values() if prop.type.is_vector]
        hint = context.suggest(target.property.text, vectors) if declared is None else None
        message = f"`{target.property.text}` is not a vector property of `{bound.type_name}`"
        context.error("T15", message, target.property.span, hint)
        return None
    nullable = declared.type.nullable or bound.optional
    return ir.Property(name, declared.name, replace(declared.type, nullable=nullable))


def _check_bm25(context: Context, scope: Scope, node: ast.Call, check: CheckOperand) -> ir.Bm25 | None:
    texts = _check_text_arguments(context, scope, node, "T20", check)
    return None if texts is None else ir.Bm25(*texts)


def _check_rrf(context: Context, scope: Scope, node: ast.Call, check: CheckOperand) -> ir.Rrf | None:
    last = node.arguments[-1]
    has_k = len(node.arguments) > 2 and not isinstance(last, ast.Call)
    arms: list[ir.Nearest | ir.Bm25] = []
    for argument in node.arguments[:-1] if has_k else node.arguments:
        if not isinstance(argument, ast.Call) or argument.function not in ("nearest", "bm25"):
            context.error("T21", "`rrf` fuses `nearest` and `bm25` rankings", argument.span)
            return None
        check_arm = check_nearest if argument.function == "nearest" else _check_bm25
        arm = check_arm(context, scope, argument, check)
        if arm is None:
            return None
        arms.append(arm)
    k: ir.Expr | None = ir.Constant(RRF_K, PropertyType(Scalar.I64))
    if has_k:
        k = _check_k(context, scope, last, check)
    return None if k is None else ir.Rrf(tuple(arms), k)


def _check_k(context: Context, scope: Scope, node: ast.Expr, check: CheckOperand) -> ir.Expr | None:
    k = check(context, scope, node)
    if k is None:
        return None
    is_integer = k.type.scalar.is_integer and k.type.is_plain_scalar and isinstance(k, ir.Constant | ir.Parameter)
    is_positive = not isinstance(k, ir.Constant) or (isinstance(k.value, int) and k.value > 0)
    if not is_integer or not is_positive or k.type.nullable:
        context.error("T21", "the constant of `rrf` must be a positive integer", node.span)
        return None
    return k
