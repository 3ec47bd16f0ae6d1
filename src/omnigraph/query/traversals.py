"""Traversals: edge, endpoints, hop bounds, and the direction that the types of the endpoints imply.

Resolves and reports; ``bind`` binds the endpoints.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.core.classes.dataclass import dataclass
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
from omnigraph.schema.ir import Pair

_OPERATOR_WORDS = ("in", "contains", "starts_with", "or", "and")


@dataclass(frozen=True, slots=True)
class ResolvedTraversal:
    """A resolved traversal with the types of both ends."""

    edge: EdgeType
    direction: Direction
    hops: HopRange
    left_type: str
    right_type: str


def resolve_traversal(context: Context, scope: Scope, clause: ast.Traversal) -> ResolvedTraversal | None:
    """The meaning of a traversal, or None if something was reported."""
    edge = _edge_type(context, clause)
    if edge is None or not _check_endpoints(context, scope, clause) or not _check_variable(context, scope, clause):
        return None
    hops = _hops(context, clause, edge)
    if hops is None:
        return None
    found = _between(context, scope, clause, edge, hops)
    return None if found is None else ResolvedTraversal(edge, found[0], hops, *found[1])


def _edge_type(context: Context, clause: ast.Traversal) -> EdgeType | None:
    written = clause.edge.text
    edge = context.catalog.edge(written)
    if edge is None:
        hint = context.suggest_or_list(written, map(as_edge_word, context.catalog.edges))
        if written in _OPERATOR_WORDS:
            hint = f"between two variables a word is an edge; for the operator write `($a {written} $b)`"
        context.error("T4", f"unknown edge `{written}`", clause.edge.span, hint)
        return None
    if clause.undirected and not edge.chains:
        source, target = (" | ".join(end.types) for end in edge.ends)
        within = "an edge within one type" if edge.is_single else "an edge whose two ends share a type"
        message = f"`{edge.name}` leads from {source} to {target}; only {within} is undirected"
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
    return hops if edge.chains else HopRange(hops.low, 1)


def _between(
    context: Context, scope: Scope, clause: ast.Traversal, edge: EdgeType, hops: HopRange
) -> tuple[Direction, Pair] | None:
    """The direction of a traversal and the types of its two ends."""
    left, right = _node_type(scope, clause.left), _node_type(scope, clause.right)
    if not edge.is_single:
        # Concrete patterns bind both ends to a type, unless something else is wrong with them.
        if left is None or right is None:
            return None
        direction = walk_direction(edge, left, right, hops, undirected=clause.undirected)
        wrong = clause.left if left not in edge.node_types else clause.right
    else:
        [(source, target)] = edge.pairs
        if left is None and right is None and clause.left == clause.right and not clause.left.is_anonymous:
            # A self-loop: one unbound variable is both ends.
            left = right = source
        direction, wrong = _direction(clause, left, right, (source, target))
        if direction is not None:
            left, right = (source, target) if direction is Direction.OUT else (target, source)
    if direction is None or left is None or right is None:
        found = left if wrong == clause.left else right
        refuse_end(context, edge, wrong, () if found is None else (found,))
        return None
    return Direction.BOTH if clause.undirected else direction, (left, right)


def refuse_end(context: Context, edge: EdgeType, end: ast.Variable, types: Sequence[str]) -> None:
    """Report an end of a traversal whose types the edge does not connect."""
    leads = f"is declared as `{edge.ends_text}`"
    if edge.is_single:
        [(source, target)] = edge.pairs
        leads = f"leads from `{source}` to `{target}`"
    message = f"`${end.name}` is a `{' | '.join(types)}`, but `{edge.name}` {leads}"
    context.error("T5", message, end.span)


def _direction(
    clause: ast.Traversal, left: str | None, right: str | None, pair: Pair
) -> tuple[Direction | None, ast.Variable]:
    """Out if the left end can be the edge's source, else in; a bound end decides, the left one first.

    None if no direction fits, with the variable that does not.
    """
    source, target = pair
    if left is not None:
        direction = Direction.OUT if left == source else Direction.IN if left == target else None
    elif right is not None:
        direction = Direction.OUT if right == target else Direction.IN if right == source else None
    else:
        direction = Direction.OUT
    if direction is not None and left is not None and right is not None:
        opposite = target if direction is Direction.OUT else source
        if right != opposite:
            return None, clause.right
    return direction, clause.right if left is None else clause.left


def walk_direction(edge: EdgeType, left: str, right: str, hops: HopRange, *, undirected: bool) -> Direction | None:
    """The direction in which an edge type leads from one node type to another within some hops; None if in none.

    It leads as written unless only the other direction exists.
    """
    if undirected:
        return Direction.BOTH if right in reached_types(edge, left, hops, Direction.BOTH) else None
    for direction in (Direction.OUT, Direction.IN):
        if right in reached_types(edge, left, hops, direction):
            return direction
    return None


def reached_types(edge: EdgeType, start: str, hops: HopRange, direction: Direction) -> frozenset[str]:
    """The node types at the ends of walks from a node of a type."""
    steps: dict[str, set[str]] = {}
    for source, target in edge.pairs:
        if direction is not Direction.IN:
            steps.setdefault(source, set()).add(target)
        if direction is not Direction.OUT:
            steps.setdefault(target, set()).add(source)
    found: set[str] = set()
    level = {start}
    for hop in range(1, hops.high + 1):
        level = set[str]().union(*(steps.get(name, ()) for name in level))
        found |= level if hop >= hops.low else set()
    return frozenset(found)


def _node_type(scope: Scope, variable: ast.Variable) -> str | None:
    bound = None if variable.is_anonymous else scope.lookup(variable.name)
    return bound.type_name if bound else None
