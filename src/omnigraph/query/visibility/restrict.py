"""The rewrite pass that keeps a query inside a scope.

Invariant: every variable that a row binds is inside the scope, and no walk leads over anything outside of it.

- A scan gets the predicate of its type.
- A single hop starts from a node that is inside already, so the predicates of the far node and of the edge suffice.
  They are predicates like any other, and all access paths apply.
- A walk of several hops, a shortest path, and a hop whose edges have no variable but a predicate get ``visible``: the
  executor then walks the subgraph of visible edges, so that no path leads through a hidden node.

The predicates come first in their conjunctions: an expression of the query that may fail never sees a hidden entity.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.query import expressions as ir
from omnigraph.query.ir import ONE_HOP, Expand, Operator, Scan, ShortestPath, VisibleEdges
from omnigraph.query.rewrite.tree import map_inputs
from omnigraph.query.standalone.formula import OWNER
from omnigraph.query.variables import transform
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog


def restrict(root: Operator, scope: DataScope, catalog: Catalog) -> Operator:
    """The operators over the entities of a scope. They name only types of its catalog."""
    below = map_inputs(root, lambda operator: restrict(operator, scope, catalog))
    match below:
        case Scan():
            predicate = _node(scope, below.type_name)
            return replace(below, predicate=_first(predicate, below.variable, below.predicate))
        case Expand():
            return _expand(below, scope, catalog)
        case ShortestPath():
            return replace(below, visible=visible_edges(scope, below.edge, catalog))
        case _:
            return below


def visible_edges(scope: DataScope, edge_name: str, catalog: Catalog) -> VisibleEdges | None:
    """The edges of a type inside a scope; None if all of them are."""
    edge = catalog.edges[edge_name]
    found = VisibleEdges(
        scope.types[edge.table_key].predicate, tuple((name, _node(scope, name)) for name in edge.node_types)
    )
    # An edge type over several types may have others outside of the scope, which no walk may visit.
    is_whole = not edge.has_types and found.edge == ir.TRUE and all(one == ir.TRUE for _, one in found.nodes)
    return None if is_whole else found


def owned(predicate: ir.Expr, variable: str) -> ir.Expr:
    """A predicate about ``OWNER`` as one about a variable."""

    def rename(part: ir.Expr) -> ir.Expr:
        if isinstance(part, ir.Property | ir.EntityId) and part.variable == OWNER:
            return replace(part, variable=variable)
        return part

    return transform(predicate, rename)


def _expand(operator: Expand, scope: DataScope, catalog: Catalog) -> Expand:
    own = scope.types[catalog.edges[operator.edge].table_key].predicate
    if operator.hops != ONE_HOP or (own != ir.TRUE and operator.edge_variable is None):
        return replace(operator, visible=visible_edges(scope, operator.edge, catalog))
    edge_predicate, predicate = operator.edge_predicate, operator.predicate
    if operator.edge_variable is not None:
        edge_predicate = _first(own, operator.edge_variable, edge_predicate)
    if not operator.closes:
        predicate = _first(_node(scope, operator.new_type), operator.new_variable, predicate)
    return replace(operator, predicate=predicate, edge_predicate=edge_predicate)


def _node(scope: DataScope, type_name: str) -> ir.Expr:
    return scope.types[f"node:{type_name}"].predicate


def _first(predicate: ir.Expr, variable: str, present: ir.Expr | None) -> ir.Expr | None:
    added = owned(predicate, variable)
    return ir.conjunction((added,) if present is None else (added, present))
