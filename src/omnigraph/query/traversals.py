"""Traversals: edge, endpoints, hop bounds, and the direction that the types of the endpoints imply.

Resolves and reports; ``bind`` binds the endpoints.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.limits import HOPS_MAX
from omnigraph.lang import gq_ast as ast
from omnigraph.query.ir import ONE_HOP, Direction, HopRange
from omnigraph.query.scope import (
    UNCODED,
    Context,
    Scope,
    VariableKind,
    as_edge_word,
    described_kind,
    kind_code,
    report_gone,
)
from omnigraph.schema.catalog import EdgeType

_OPERATOR_WORDS = ("in", "contains", "starts_with", "or", "and")


@dataclass(frozen=True, slots=True)
class ResolvedTraversal:
    """A resolved traversal; edge and direction determine the types of both ends."""

    edge: EdgeType
    direction: Direction
    hops: HopRange

    @property
    def left_type(self) -> str:
        return self.edge.target if self.direction is Direction.IN else self.edge.source

    @property
    def right_type(self) -> str:
        return self.edge.source if self.direction is Direction.IN else self.edge.target


def resolve_traversal(context: Context, scope: Scope, clause: ast.Traversal) -> ResolvedTraversal | None:
    """The meaning of a traversal, or None if something was reported."""
    edge = _edge_type(context, clause)
    if edge is None or not _check_endpoints(context, scope, clause) or not _check_variable(context, scope, clause):
        return None
    hops = _hops(context, clause, edge)
    direction = _direction(context, scope, clause, edge)
    if hops is None or direction is None:
        return None
    return ResolvedTraversal(edge, direction, hops)


def _edge_type(context: Context, clause: ast.Traversal) -> EdgeType | None:
    written = clause.edge.text
    edge = context.catalog.edge(written)
    if edge is None:
        hint = context.suggest(written, map(as_edge_word, context.catalog.edges))
        if written in _OPERATOR_WORDS:
            hint = f"between two variables a word is an edge; for the operator write `($a {written} $b)`"
        context.error("T4", f"unknown edge `{written}`", clause.edge.span, hint)
        return None
    if clause.undirected and not edge.is_homogeneous:
        message = f"`{edge.name}` leads from {edge.source} to {edge.target}; only an edge within one type is undirected"
        context.error("T22", message, clause.edge.span, f"without direction marks, `{written}` works from either end")
        return None
    return edge


def _check_endpoints(context: Context, scope: Scope, clause: ast.Traversal) -> bool:
    for variable in (clause.left, clause.right):
        bound = None if variable.is_anonymous else scope.lookup(variable.name)
        if bound is None and variable.name in context.parameters:
            message = f"`${variable.name}` is a parameter and cannot be traversed"
            context.error(UNCODED, message, variable.span, "bind a node first: `$x: Type { property: $parameter }`")
            return False
        if report_gone(context, bound, variable.span):
            return False
        if bound is not None and bound.kind is not VariableKind.NODE:
            code = kind_code(bound.kind)
            message = f"`${bound.name}` is {described_kind(bound.kind)} and cannot be an endpoint"
            context.error(code, message, variable.span)
            return False
    return True


def _check_variable(context: Context, scope: Scope, clause: ast.Traversal) -> bool:
    """The name before the colon: an edge, or with ``shortest`` a path."""
    variable = clause.edge_variable
    if variable is None:
        return True
    if clause.hops is not None and not clause.shortest:
        path = "path" if variable.is_anonymous else variable.name
        hint = f"bind the path instead: `${path}: shortest {clause.edge.text}{{...}}`"
        context.error("T23", "an edge variable cannot be bound over several hops", variable.span, hint)
        return False
    if variable.is_anonymous:
        return True
    if report_gone(context, scope.lookup(variable.name), variable.span):
        return False
    is_endpoint = variable.name in (clause.left.name, clause.right.name)
    if is_endpoint or scope.lookup(variable.name) or variable.name in context.parameters:
        code = "T27" if clause.shortest else "T23"
        context.error(code, f"`${variable.name}` is already bound", variable.span, "choose another name")
        return False
    return True


def _hops(context: Context, clause: ast.Traversal, edge: EdgeType) -> HopRange | None:
    if clause.hops is None:
        hops = HopRange(1, HOPS_MAX) if clause.shortest else ONE_HOP
    else:
        low, high = clause.hops.low, clause.hops.high
        if high is None:
            hint = f"name an upper bound: `{{{low},{max(low, 5)}}}`"
            context.error("T15", "hops must have an upper bound", clause.hops.span, hint)
            return None
        if low == 0 or high < low:
            message = f"hops {{{low},{high}}} must be at least 1 and not decrease"
            context.error("T15", message, clause.hops.span)
            return None
        hops = HopRange(low, high)
    # An edge between two types cannot be followed twice in a row, so two or more hops reach nothing.
    return hops if edge.is_homogeneous else HopRange(hops.low, 1)


def _direction(context: Context, scope: Scope, clause: ast.Traversal, edge: EdgeType) -> Direction | None:
    """Out if the left end can be the edge's source, else in; a bound end decides, the left one first."""
    left, right = _node_type(scope, clause.left), _node_type(scope, clause.right)
    if left is None and right is None and clause.left == clause.right and not clause.left.is_anonymous:
        # A self-loop: one unbound variable is both ends.
        left = right = edge.source
    if left is not None:
        direction = Direction.OUT if left == edge.source else Direction.IN if left == edge.target else None
    elif right is not None:
        direction = Direction.OUT if right == edge.target else Direction.IN if right == edge.source else None
    else:
        direction = Direction.OUT
    wrong, found = (clause.right, right) if left is None else (clause.left, left)
    if direction is not None and left is not None and right is not None:
        opposite = edge.target if direction is Direction.OUT else edge.source
        if right != opposite:
            direction, wrong, found = None, clause.right, right
    if direction is None:
        message = f"`${wrong.name}` is a `{found}`, but `{edge.name}` leads from `{edge.source}` to `{edge.target}`"
        context.error("T5", message, wrong.span)
        return None
    return Direction.BOTH if clause.undirected else direction


def _node_type(scope: Scope, variable: ast.Variable) -> str | None:
    bound = None if variable.is_anonymous else scope.lookup(variable.name)
    return bound.type_name if bound else None
