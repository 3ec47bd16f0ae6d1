"""Traversal operators: extend a frame by far nodes, edges or paths.

Predicates on a reached node or edge are evaluated once per distinct node or edge, before rows are materialised.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.exec.adjacency import sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator, Mask
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView, stored_pair
from omnigraph.exec.tables import Rows, TableView
from omnigraph.exec.topology.mixed import MixedTopology
from omnigraph.exec.topology.walkable import Steps, Walkable
from omnigraph.exec.walk import expand, paths
from omnigraph.exec.walk.expand import Reached
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ONE_HOP, Expand, ShortestPath


def expand_rows(operator: Expand, frame: Frame, graph: GraphView, evaluator: Evaluator, budget: Budget) -> Frame:
    """The rows of the frame, each with every far end that satisfies the operator's predicates."""
    reached = _within(operator, _reach(operator, frame, graph, budget), graph)
    table = graph.node_table(operator.new_type)
    if operator.predicate is not None:
        keep = satisfying(operator.predicate, operator.new_variable, table, reached.node, evaluator)
        reached = reached.where(keep)
    edges = graph.edge_table(operator.edge)
    if operator.edge_predicate is not None and operator.edge_variable is not None and reached.edge is not None:
        keep = satisfying(operator.edge_predicate, operator.edge_variable, edges, reached.edge, evaluator)
        reached = reached.where(keep)
    result = frame.take(reached.position)
    if operator.edge_variable is not None and reached.edge is not None:
        result = result.bind(operator.edge_variable, reached.edge, edges)
    return result if operator.closes else result.bind(operator.new_variable, reached.node, table)


def _reach(operator: Expand, frame: Frame, graph: GraphView, budget: Budget) -> Reached:
    bound = operator.source if operator.closes or not operator.from_target else operator.target
    topology = graph.walkable(operator, frame.bindings[bound])
    # Lists for an edge bound at its target lead from the target type.
    lists = expand.neighbours(topology, operator.direction, reverse=operator.from_target and not operator.closes)
    keep_edges = operator.edge_variable is not None
    if operator.closes:
        source, target = frame.bindings[operator.source], frame.bindings[operator.target]
        return expand.closing(
            lists, topology.loops, source, target, operator.hops, keep_edges=keep_edges, budget=budget
        )
    starts = frame.bindings[operator.target if operator.from_target else operator.source]
    if operator.hops == ONE_HOP:
        return expand.one_hop(lists, starts, keep_edges=keep_edges, budget=budget)
    return expand.many_hops(
        lists, topology.loops, starts, operator.hops, from_target=operator.from_target, budget=budget
    )


def _within(operator: Expand, reached: Reached, graph: GraphView) -> Reached:
    """The reached nodes of the type that the operator binds: a walk over several types also reaches others."""
    if operator.closes or not graph.is_mixed(operator):
        return reached
    return reached.where((reached.node >= 0) & (reached.node < graph.node_table(operator.new_type).size))


def satisfying(predicate: ir.Expr, variable: str, table: TableView, rows: Rows, evaluator: Evaluator) -> Mask:
    """A mask of the rows that satisfy a predicate that reads only them; each distinct row is evaluated once."""
    if len(rows) * 8 > table.size:
        # Flags over the whole table deduplicate faster than sorting once the rows are a good part of it.
        seen = np.zeros(table.size, bool)
        seen[rows] = True
        different = np.flatnonzero(seen)
    else:
        different = sorted_set(rows)
    kept = evaluator.mask(predicate, Frame(len(different), {variable: table}, {variable: different}))
    if kept.all():
        return np.ones(len(rows), bool)
    found: Mask = kept[np.searchsorted(different, rows)]
    return found


def shortest_rows(operator: ShortestPath, frame: Frame, graph: GraphView, budget: Budget) -> Frame:
    """The rows whose two ends are connected, each with one shortest path or with each of them."""
    topology: Walkable[Steps]
    if graph.is_mixed(operator):
        assert operator.pair is not None
        topology = graph.mixed(operator.edge, operator.pair, operator.visible)
    else:
        topology = graph.topology(operator.edge, operator.visible, stored_pair(operator))
    lists = expand.neighbours(topology, operator.direction, reverse=False)
    ends = frame.bindings[operator.source], frame.bindings[operator.target]
    if topology.within_one_type:
        ways = paths.Ways(lists, expand.neighbours(topology, operator.direction, reverse=True))
        find = paths.all_shortest_paths if operator.every else paths.shortest_paths
        found = find(ways, topology.loops, *ends, operator.hops, wants_nodes=operator.wants_nodes, budget=budget)
        result = frame.take(found.position)
        length, nodes = found.length, found.nodes
    else:
        hit = expand.closing(lists, topology.loops, *ends, operator.hops, keep_edges=False, budget=budget)
        result = frame.take(hit.position)
        length, nodes = np.ones(result.length, np.int64), None
    result = result.with_column(f"{operator.path_variable}.length", pa.array(length))
    if not operator.wants_nodes:
        return result
    if nodes is None:
        ids = _direct_ids(operator, result)
    else:
        ids = _ids_along(operator, result, nodes, topology)
    return result.with_column(f"{operator.path_variable}.nodes", ids)


def _ids_along(operator: ShortestPath, frame: Frame, nodes: list[list[int]], topology: Walkable[Steps]) -> pa.Array:
    numbers = np.array([node for path in nodes for node in path], np.int64)
    offsets = np.concatenate(([0], np.cumsum([len(path) for path in nodes], dtype=np.int64)))
    if isinstance(topology, MixedTopology):
        ids = topology.ranges.ids(numbers)
    else:
        ids = frame.tables[operator.source].values("id", topology.source.to_row(numbers))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ids)


def _direct_ids(operator: ShortestPath, frame: Frame) -> pa.Array:
    """The ids of a path between two types: its two ends."""
    both = pa.concat_arrays([frame.values(operator.source, "id"), frame.values(operator.target, "id")])
    pairs = np.arange(2 * frame.length).reshape(2, frame.length).T.ravel()
    offsets = pa.array(np.arange(frame.length + 1) * 2, pa.int32())
    return pa.ListArray.from_arrays(offsets, both.take(pa.array(pairs)))
