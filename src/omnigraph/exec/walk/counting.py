"""Following edges without making a row for each: where only the number of ways matters, numbers are added up instead.

Two cases. A walk whose nodes nobody looks at multiplies the weight of a row by the number of ways to make it. And
where the far end is all that is left of a row, every node gets the weights of all rows that reach it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.exec.adjacency import Adjacency, Mask, contains
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.multiplicity import EXACT_MAX, ROWS_MAX, checked, product, sums
from omnigraph.exec.scan import scan_rows
from omnigraph.exec.tables import Rows, TableView
from omnigraph.exec.topology.neighbours import Lists
from omnigraph.exec.topology.renumber import Correspondence
from omnigraph.exec.walk import expand
from omnigraph.exec.walk.traverse import satisfying
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ONE_HOP, Expand, Scan
from omnigraph.query.liveness import Demand, Multiplicity, near_variable

DENSE_SHARE = 8
"""Arrays over all nodes or edges are worth it when rows for more than one in this many would be made."""


NUMBER_ONLY = Demand(frozenset(), frozenset(), Multiplicity.COUNTED)


@dataclass(frozen=True)
class Way:
    """The neighbours of the end of a step that is bound: once each, or once per edge if the edge has a variable.

    The lists of the base are worked on as a whole; nodes whose lists have changed since are walked one by one.
    """

    step: Expand
    lists: Lists

    @property
    def keeps_edges(self) -> bool:
        return self.step.edge_variable is not None

    @property
    def base(self) -> Adjacency:
        return self.lists.base if self.keeps_edges else self.lists.base.pairs

    @property
    def is_filtered(self) -> bool:
        """Whether not every neighbour counts: there is a condition, or an edge whose far end is gone."""
        return self.step.predicate is not None or self.step.edge_predicate is not None or len(self.lists.far.gone) > 0

    def degrees(self, numbers: Rows) -> Rows:
        """How many neighbours each of the nodes has."""
        counts = np.zeros(len(numbers), np.int64)
        based = numbers < self.base.nodes
        counts[based] = self.base.degrees(numbers[based])
        if self.lists.is_changed:
            changed = np.flatnonzero(contains(self.lists.changed, numbers))
            position, _, _ = self.lists.step(numbers[changed], keep_edges=self.keeps_edges)
            counts[changed] = np.bincount(position, minlength=len(changed))
        return counts

    def accepted_edges(self, graph: GraphView, evaluator: Evaluator) -> Mask | None:
        """For every row of the edge table whether it satisfies the condition on edges; None if there is none."""
        if self.step.edge_predicate is None or self.step.edge_variable is None:
            return None
        table = graph.edge_table(self.step.edge)
        return satisfying_all(self.step.edge_predicate, self.step.edge_variable, table, evaluator)


def way_of(step: Expand, graph: GraphView) -> Way:
    return Way(step, expand.neighbours(graph.topology(step.edge), step.direction, reverse=step.from_target))


def _way_from(step: Expand, near: Rows, graph: GraphView) -> Way | None:
    """The way from these rows; None if they are too few to make neighbour lists for."""
    lists = expand.neighbours(graph.walkable(step.edge, near, ONE_HOP), step.direction, reverse=step.from_target)
    return Way(step, lists) if isinstance(lists, Lists) else None


# --- walks that nobody looks at --------------------------------------------------------------------------


def forget_walk(
    steps: tuple[Expand, ...], frame: Frame, demand: Demand, graph: GraphView, evaluator: Evaluator
) -> Frame | None:
    """Every row weighed by the number of walks from it; None if it is better to make the walks one by one."""
    near = frame.bindings[near_variable(steps[0])]
    first = _way_from(steps[0], near, graph)
    if first is None:
        return None
    is_dense = frame.length * DENSE_SHARE > first.lists.near.size
    ways = np.zeros(frame.length, np.int64)
    bound = np.flatnonzero(near >= 0)
    if len(steps) == 1 and not first.is_filtered:
        ways[bound] = first.degrees(first.lists.near.to_number(near[bound]))
        return _multiplied(frame, ways, demand)
    if not is_dense:
        return None
    if _is_from_all(steps, frame, demand):
        return _from_both_ends(steps, graph, evaluator)
    onwards = _onwards(steps, demand, graph, evaluator)
    if onwards is None:
        return None
    ways[bound] = onwards[near[bound]]
    return _multiplied(frame, ways, demand)


def _onwards(steps: tuple[Expand, ...], demand: Demand, graph: GraphView, evaluator: Evaluator) -> Rows | None:
    """For every row that the steps start from the number of walks; None if they are too many to add up."""
    onwards: Rows | None = None
    for step in reversed(steps):
        onwards = _ways(way_of(step, graph), onwards, graph, evaluator)
        if onwards is None:
            return None
        if demand.multiplicity is Multiplicity.EXISTS:
            onwards = np.minimum(onwards, 1)
    return onwards


def _is_from_all(steps: tuple[Expand, ...], frame: Frame, demand: Demand) -> bool:
    """Whether the walks start from every node of a type, and nothing but their number is wanted."""
    start = steps[0].input
    is_all = isinstance(start, Scan) and start.predicate in (None, ir.TRUE) and frame.weight is None
    is_free = steps[0].predicate is None and steps[0].edge_predicate is None
    kept = [name for name in (*frame.bindings, *frame.columns) if _is_kept(name, demand)]
    return len(steps) > 1 and is_all and is_free and not kept and demand.multiplicity is Multiplicity.COUNTED


def _from_both_ends(steps: tuple[Expand, ...], graph: GraphView, evaluator: Evaluator) -> Frame | None:
    """One row for every node that the first step leads to, weighed by the walks before it and after it.

    Walks of one step are degrees, so this spares a pass over all edges.
    """
    first = steps[0]
    lists = expand.neighbours(graph.topology(first.edge), first.direction, reverse=not first.from_target)
    back = Way(first, lists)
    if len(back.lists.far.gone):
        return None
    before = _by_row(lists.near, back.degrees(np.arange(lists.near.size)))
    total = _through_the_middle(steps, before, graph, evaluator)
    if total is not None:
        return Frame(min(total, 1), {}, weight=np.full(min(total, 1), total))
    after = _onwards(steps[1:], NUMBER_ONLY, graph, evaluator)
    if after is None:
        return None
    middle = graph.node_table(first.new_type).live()
    before, after = before[middle], after[middle]
    some = (before > 0) & (after > 0)
    return Frame(int(some.sum()), {}, weight=product(before[some], after[some]))


def _through_the_middle(steps: tuple[Expand, ...], before: Rows, graph: GraphView, evaluator: Evaluator) -> int | None:
    """The number of walks, added up over the edges of the second step; None where that takes more than one pass."""
    if len(steps) < 3:
        return None
    way = way_of(steps[1], graph)
    after = None if way.is_filtered or way.lists.is_changed else _onwards(steps[2:], NUMBER_ONLY, graph, evaluator)
    if after is None:
        return None
    base = way.base
    near = by_number(way.lists.near, before)[: base.nodes].astype(np.float64)
    far = by_number(way.lists.far, after).astype(np.float64)
    # Whole numbers below this bound are exact as floats, and so is every sum of them on the way.
    total = float(np.dot(np.repeat(near, np.diff(base.offsets)), far[base.neighbours]))
    return int(total) if total < EXACT_MAX else None


def _multiplied(frame: Frame, ways: Rows, demand: Demand) -> Frame:
    some = ways > 0
    kept = frame.where(some)
    if demand.multiplicity is Multiplicity.EXISTS:
        return kept
    return kept.weighted(product(kept.weight, ways[some]))


def _ways(way: Way, after: Rows | None, graph: GraphView, evaluator: Evaluator) -> Rows | None:
    """For every near row the ways to go on from all of its neighbours; None if they are too many to add up.

    ``after`` are the ways on from every far row.
    """
    lists, base = way.lists, way.base
    if after is None and not way.is_filtered:
        return _by_row(lists.near, way.degrees(np.arange(lists.near.size)))
    far = graph.node_table(way.step.new_type)
    onwards = np.ones(far.size, np.int64) if after is None else after
    if way.step.predicate is not None:
        onwards = np.where(satisfying_all(way.step.predicate, way.step.new_variable, far, evaluator), onwards, 0)
    onwards = by_number(lists.far, onwards)
    degree_max = int(np.diff(base.offsets).max(initial=0)) + len(lists.starts)
    if int(onwards.max(initial=0)) * degree_max > ROWS_MAX:
        return None
    accepted = way.accepted_edges(graph, evaluator)
    by_slot = onwards[base.neighbours]
    if accepted is not None:
        by_slot = by_slot * accepted[lists.edges.to_row(base.edges)]
    # The running sum may wrap around; differences of it are right all the same.
    running = np.concatenate(([0], np.cumsum(by_slot, dtype=np.int64)))
    ways = np.zeros(lists.near.size, np.int64)
    ways[: base.nodes] = running[base.offsets[1:]] - running[base.offsets[:-1]]
    if lists.is_changed:
        position, neighbour, edge = lists.step(lists.changed, keep_edges=way.keeps_edges)
        more = onwards[neighbour] if accepted is None else onwards[neighbour] * accepted[edge]
        ways[lists.changed] = sums(position, more, len(lists.changed))
    return _by_row(lists.near, ways)


def _by_row(nodes: Correspondence, by_number: Rows) -> Rows:
    """Something known of every number, by row; what stands at deleted rows means nothing."""
    if not len(by_number):
        return np.zeros(nodes.rows, np.int64)
    numbers = nodes.to_number(np.arange(nodes.rows))
    return by_number[np.minimum(numbers, len(by_number) - 1)]


def by_number(nodes: Correspondence, by_row: Rows) -> Rows:
    """Something known of every row, by number; nothing for those that are gone, and what nobody has means nothing."""
    if not len(by_row):
        return np.zeros(nodes.size, np.int64)
    rows = nodes.to_row(np.arange(nodes.size))
    return np.where(rows >= 0, by_row[np.clip(rows, 0, len(by_row) - 1)], 0)


def satisfying_all(predicate: ir.Expr, variable: str, table: TableView, evaluator: Evaluator) -> Mask:
    """For every row number of a table whether it satisfies a predicate about nothing but it."""
    found = np.zeros(table.size, bool)
    found[scan_rows(table, variable, predicate, evaluator)] = True
    return found


# --- rows of which only the far end is left --------------------------------------------------------------


def arrive(
    step: Expand, frame: Frame, demand: Demand, graph: GraphView, evaluator: Evaluator, budget: Budget
) -> Frame | None:
    """The nodes one hop away, each with the weight of all rows that lead there; None where rows have to be made."""
    near = near_variable(step)
    if step.closes or step.hops != ONE_HOP or not leaves_only(step, frame, demand):
        return None
    way, far = _way_from(step, frame.bindings[near], graph), graph.node_table(step.new_type)
    if way is None:
        return None
    bound = frame.bindings[near] >= 0
    starts = way.lists.near.to_number(frame.bindings[near][bound])
    touched = int(way.lists.degrees(starts).sum())
    if touched * DENSE_SHARE <= far.size:
        return None
    exists = demand.multiplicity is Multiplicity.EXISTS
    weight = None if frame.weight is None or exists else frame.weight[bound]
    accepted = way.accepted_edges(graph, evaluator)
    if touched * DENSE_SHARE < len(way.base.neighbours):
        counts = _walked(way, starts, weight, accepted, budget)
    else:
        budget.check(len(way.base.neighbours) + far.size, 2)
        counts = _arrivals(way, sums(starts, weight, way.lists.near.size), accepted, budget, once=exists)
    numbers = np.flatnonzero(counts)
    nodes = way.lists.far.to_row(numbers)
    numbers, nodes = numbers[nodes >= 0], nodes[nodes >= 0]
    if step.predicate is not None:
        keep = satisfying(step.predicate, step.new_variable, far, nodes, evaluator)
        numbers, nodes = numbers[keep], nodes[keep]
    name = step.new_variable
    return Frame(len(nodes), {name: far}, {name: nodes}, weight=None if exists else counts[numbers])


def leaves_only(step: Expand, frame: Frame, demand: Demand) -> bool:
    """Whether the far end of a step is all that is wanted of its rows."""
    near = near_variable(step)
    others = (frame.bindings.keys() | frame.columns.keys()) - {near}
    looked_at = near in demand.variables or step.edge_variable in demand.variables
    return not looked_at and not any(_is_kept(name, demand) for name in others)


def _is_kept(name: str, demand: Demand) -> bool:
    return name.startswith("#") or name.partition(".")[0] in demand.variables


def _walked(way: Way, starts: Rows, weight: Rows | None, accepted: Mask | None, budget: Budget) -> Rows:
    """The weights that arrive at every far number, by a step from every start."""
    budget.check(int(way.lists.degrees(starts).sum()), 2)
    position, neighbour, edge = way.lists.step(starts, keep_edges=way.keeps_edges)
    if accepted is not None:
        used = accepted[edge]
        position, neighbour = position[used], neighbour[used]
    return sums(neighbour, None if weight is None else weight[position], way.lists.far.size)


def _arrivals(way: Way, by_node: Rows, accepted: Mask | None, budget: Budget, *, once: bool) -> Rows:
    """The same for a weight of every near number, all at once; with ``once`` it only matters whether any arrives."""
    lists, base = way.lists, way.base
    by_node = np.minimum(by_node, 1) if once else by_node
    changed = lists.changed[by_node[lists.changed] > 0] if lists.is_changed else lists.changed[:0]
    more = _walked(way, changed, by_node[changed], accepted, budget) if len(changed) else None
    by_node = by_node.copy()
    by_node[changed] = 0
    by_node = by_node[: base.nodes]
    neighbours, by_slot, used = base.neighbours, None, None
    if not (by_node == 1).all():
        by_slot = np.repeat(by_node, np.diff(base.offsets))
        used = by_slot > 0
    if accepted is not None:
        allowed = accepted[lists.edges.to_row(base.edges)]
        used = allowed if used is None else used & allowed
    if used is not None and not used.all():
        neighbours, by_slot = neighbours[used], None if by_slot is None else by_slot[used]
    if by_slot is not None and int(by_slot.max(initial=1)) == 1:
        by_slot = None
    counts = sums(neighbours, by_slot, lists.far.size)
    if more is not None:
        checked(int(counts.max(initial=0)) + int(more.max(initial=0)))
        counts = counts + more
    return counts
