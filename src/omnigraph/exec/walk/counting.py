"""Counted expansion: traversals that aggregate multiplicities instead of materialising one row per match.

Invariant: the returned frame stands for the same bag of rows as ``traverse.expand_rows``, restricted to the variables
that the demand names. A function returns None where it cannot keep that promise cheaply; the caller then materialises.

Two cases:

- Neither end of a walk is read later (``forget_walk``): every input row is multiplied by its number of walks.
- Only the far end is read later (``arrive``): every far node gets the sum of the multiplicities that lead to it.

Example: edges 0 -> 2, 0 -> 3, 1 -> 3, 3 -> 4 and input rows at nodes 0, 1, 3 with multiplicities 1, 2, 1::

    node             0  1  2  3  4
    degree           2  1  0  1  0
    forget_walk      2  2  -  1  -    multiplicity of the three rows: 1 * 2, 2 * 1, 1 * 1
    arrive           -  -  1  3  1    multiplicity of the far nodes: 2 from 0; 3 from 0 and 1; 4 from 3

Two numberings occur. *Rows* are positions in the present version of a table. *Numbers* are positions in the base
version that the neighbour lists were built from; ``Correspondence`` translates. Arrays over one must never be indexed
with the other, even though both are often equal.
"""

from __future__ import annotations

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Adjacency, Mask, contains
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView, stored_pair
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

NUMBER_ONLY = Demand(frozenset(), frozenset(), Multiplicity.COUNTED)


@dataclass(frozen=True)
class Way:
    """The neighbour lists of one step, seen from its bound end.

    A neighbour occurs once, or once per edge if the edge has a variable. Base lists are processed as whole arrays;
    nodes whose lists have changed since the base was built are stepped individually.
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
        """True if some neighbours do not count: there is a predicate, or a far node was deleted since the base."""
        return self.step.predicate is not None or self.step.edge_predicate is not None or len(self.lists.far.gone) > 0

    def degrees(self, numbers: Rows) -> Rows:
        """The degree of each of the nodes."""
        if int(numbers.max(initial=-1)) < self.base.nodes:
            counts = self.base.degrees(numbers)
        else:
            # Nodes added since the base have numbers beyond its lists.
            counts = np.zeros(len(numbers), np.int64)
            based = numbers < self.base.nodes
            counts[based] = self.base.degrees(numbers[based])
        if self.lists.is_changed:
            # Overwrite, not add: the base degree of a changed node counts edges that may be gone.
            changed = np.flatnonzero(contains(self.lists.changed, numbers))
            position, _, _ = self.lists.step(numbers[changed], keep_edges=self.keeps_edges)
            counts[changed] = np.bincount(position, minlength=len(changed))
        return counts

    def accepted_edges(self, graph: GraphView, evaluator: Evaluator) -> Mask | None:
        """For every row of the edge table whether it satisfies the edge predicate; None if there is none."""
        if self.step.edge_predicate is None or self.step.edge_variable is None:
            return None
        table = graph.edge_table(self.step.edge)
        return satisfying_all(self.step.edge_predicate, self.step.edge_variable, table, evaluator)


def way_of(step: Expand, graph: GraphView) -> Way:
    topology = graph.topology(step.edge, step.visible, stored_pair(step))
    return Way(step, expand.neighbours(topology, step.direction, reverse=step.from_target))


def _way_from(step: Expand, near: Rows, graph: GraphView) -> Way | None:
    """The lists for these rows; None if the rows are few enough for the edge index."""
    topology = graph.walkable(step, near)
    lists = expand.neighbours(topology, step.direction, reverse=step.from_target)
    return Way(step, lists) if isinstance(lists, Lists) else None


def forget_walk(
    steps: tuple[Expand, ...], frame: Frame, demand: Demand, graph: GraphView, evaluator: Evaluator
) -> Frame | None:
    """Every row multiplied by its number of walks; None if materialising the walks is cheaper."""
    if any(graph.is_mixed(step) for step in steps):
        return None
    near = frame.bindings[near_variable(steps[0])]
    first = _way_from(steps[0], near, graph)
    if first is None:
        return None
    is_dense = frame.length * graph.store.tuning.counted_share > first.lists.near.size
    if len(steps) == 1 and not first.is_filtered:
        return _multiplied(frame, _degrees(first, near), demand)
    if not is_dense:
        return None
    if _is_from_all(steps, frame, demand):
        return _from_both_ends(steps, graph, evaluator)
    onwards = _onwards(steps, demand, graph, evaluator)
    if onwards is None:
        return None
    ways = np.zeros(frame.length, np.int64)
    # A null binding (-1) has no walks; as an index it would silently read the last row.
    bound = np.flatnonzero(near >= 0)
    ways[bound] = onwards[near[bound]]
    return _multiplied(frame, ways, demand)


def _degrees(way: Way, near: Rows) -> Rows:
    """The number of steps from every row; a null binding (-1) has none."""
    if not len(near) or near.min() >= 0:
        return way.degrees(way.lists.near.to_number(near))
    degrees = np.zeros(len(near), np.int64)
    bound = np.flatnonzero(near >= 0)
    degrees[bound] = way.degrees(way.lists.near.to_number(near[bound]))
    return degrees


def _onwards(steps: tuple[Expand, ...], demand: Demand, graph: GraphView, evaluator: Evaluator) -> Rows | None:
    """The number of walks from every row of the first step's near table; None if it may exceed 64 bits.

    Computed backwards from the last step, so that every step is one pass over its edges.
    """
    onwards: Rows | None = None
    for step in reversed(steps):
        onwards = _ways(way_of(step, graph), onwards, graph, evaluator)
        if onwards is None:
            return None
        if demand.multiplicity is Multiplicity.EXISTS:
            # Only reachability matters; capping also keeps the counts from overflowing.
            onwards = np.minimum(onwards, 1)
    return onwards


def _is_from_all(steps: tuple[Expand, ...], frame: Frame, demand: Demand) -> bool:
    """True if the walks start from every node of a type, and the query reads only their number."""
    start = steps[0].input
    is_all = isinstance(start, Scan) and start.predicate in (None, ir.TRUE) and frame.multiplicity is None
    is_free = steps[0].predicate is None and steps[0].edge_predicate is None
    kept = [name for name in (*frame.bindings, *frame.columns) if _is_kept(name, demand)]
    return len(steps) > 1 and is_all and is_free and not kept and demand.multiplicity is Multiplicity.COUNTED


def _from_both_ends(steps: tuple[Expand, ...], graph: GraphView, evaluator: Evaluator) -> Frame | None:
    """One row per node that the first step leads to: its in-walks times its out-walks.

    The in-walks of one step are degrees, which saves a pass over all edges.

    Example: 0 -> 2, 1 -> 2, 2 -> 3, 2 -> 4 has 2 (into node 2) * 2 (out of it) = 4 walks of two steps.
    """
    first = steps[0]
    topology = graph.topology(first.edge, first.visible, stored_pair(first))
    lists = expand.neighbours(topology, first.direction, reverse=not first.from_target)
    back = Way(first, lists)
    if len(back.lists.far.gone):
        # Degrees would count edges from deleted nodes.
        return None
    before = _by_row(lists.near, back.degrees(np.arange(lists.near.size)))
    total = _through_the_middle(steps, before, graph, evaluator)
    if total is not None:
        return Frame(min(total, 1), {}, multiplicity=np.full(min(total, 1), total))
    after = _onwards(steps[1:], NUMBER_ONLY, graph, evaluator)
    if after is None:
        return None
    middle = graph.node_table(first.new_type).live()
    before, after = before[middle], after[middle]
    some = (before > 0) & (after > 0)
    return Frame(int(some.sum()), {}, multiplicity=product(before[some], after[some]))


def _through_the_middle(steps: tuple[Expand, ...], before: Rows, graph: GraphView, evaluator: Evaluator) -> int | None:
    """The total number of walks, summed over the edges of the second step; None if one pass is not enough.

    Every edge (m, n) of the second step stands for ``before[m] * after[n]`` walks, so the sum is one dot product.
    """
    if len(steps) < 3:
        return None
    way = way_of(steps[1], graph)
    after = None if way.is_filtered or way.lists.is_changed else _onwards(steps[2:], NUMBER_ONLY, graph, evaluator)
    if after is None:
        return None
    base = way.base
    near = by_number(way.lists.near, before)[: base.nodes].astype(np.float64)
    far = by_number(way.lists.far, after).astype(np.float64)
    # All terms are non-negative integers, so if the total is exact as a float, every partial sum is exact as well.
    total = float(np.dot(np.repeat(near, np.diff(base.offsets)), far[base.neighbours]))
    return int(total) if total < EXACT_MAX else None


def _multiplied(frame: Frame, ways: Rows, demand: Demand) -> Frame:
    some = ways > 0
    kept = frame.where(some)
    if demand.multiplicity is Multiplicity.EXISTS:
        return kept
    return kept.with_multiplicity(product(kept.multiplicity, ways[some]))


def _ways(way: Way, after: Rows | None, graph: GraphView, evaluator: Evaluator) -> Rows | None:
    """For every near row the sum of ``after`` over its neighbours; None if a sum may exceed 64 bits.

    ``after`` is the number of walks that continue from every far row; None means one each. A segmented sum: running
    totals over all slots, then the difference at the two offsets of each node::

        offsets     0     2  3  3     5      nodes 0 to 3 have 2, 1, 0 and 2 neighbours
        by slot       1  4  2      3  1
        running     0  1  5  7    10 11      running[k] is the sum of the first k slots
        ways        5  2  0  4               running[offsets[n + 1]] - running[offsets[n]]
    """
    lists, base = way.lists, way.base
    if after is None and not way.is_filtered:
        return _by_row(lists.near, way.degrees(np.arange(lists.near.size)))
    far = graph.node_table(way.step.new_type)
    onwards = np.ones(far.size, np.int64) if after is None else after
    if way.step.predicate is not None:
        onwards = np.where(satisfying_all(way.step.predicate, way.step.new_variable, far, evaluator), onwards, 0)
    onwards = by_number(lists.far, onwards)
    # Python integers: this bound on the largest sum must not overflow itself. Added edges may all be at one node.
    degree_max = int(np.diff(base.offsets).max(initial=0)) + len(lists.starts)
    if int(onwards.max(initial=0)) * degree_max > ROWS_MAX:
        return None
    accepted = way.accepted_edges(graph, evaluator)
    by_slot = onwards[base.neighbours]
    if accepted is not None:
        by_slot = by_slot * _accepted_slots(lists, accepted)
    # The running total may wrap around. Differences modulo 2**64 are still right, because every sum fits 64 bits.
    running = np.concatenate(([0], np.cumsum(by_slot, dtype=np.int64)))
    ways = np.zeros(lists.near.size, np.int64)
    ways[: base.nodes] = running[base.offsets[1:]] - running[base.offsets[:-1]]
    if lists.is_changed:
        # Replaces the base values: the base lists of these nodes hold edges that may be gone.
        position, neighbour, edge = lists.step(lists.changed, keep_edges=way.keeps_edges)
        more = onwards[neighbour] if accepted is None else onwards[neighbour] * accepted[edge]
        ways[lists.changed] = sums(position, more, len(lists.changed))
    return _by_row(lists.near, ways)


def _accepted_slots(lists: Lists, accepted: Mask) -> Mask:
    """For every slot of the base whether its edge is accepted; undefined for edges that were deleted since."""
    if not len(accepted):
        # All edges were deleted: no row stands for them.
        return np.zeros(len(lists.base.edges), bool)
    return accepted[lists.edges.to_row(lists.base.edges)]


def _by_row(nodes: Correspondence, by_number: Rows) -> Rows:
    """An array over numbers as an array over rows; entries of deleted rows are undefined."""
    if not len(by_number):
        return np.zeros(nodes.rows, np.int64)
    numbers = nodes.to_number(np.arange(nodes.rows))
    # Deleted rows translate to arbitrary numbers; the clamp only keeps the index in bounds.
    return by_number[np.minimum(numbers, len(by_number) - 1)]


def by_number(nodes: Correspondence, by_row: Rows) -> Rows:
    """An array over rows as an array over numbers; zero for deleted nodes, undefined for numbers without a node."""
    if not len(by_row):
        return np.zeros(nodes.size, np.int64)
    rows = nodes.to_row(np.arange(nodes.size))
    return np.where(rows >= 0, by_row[np.clip(rows, 0, len(by_row) - 1)], 0)


def satisfying_all(predicate: ir.Expr, variable: str, table: TableView, evaluator: Evaluator) -> Mask:
    """For every row of a table whether it satisfies a predicate that reads only that row."""
    found = np.zeros(table.size, bool)
    found[scan_rows(table, variable, predicate, evaluator)] = True
    return found


def arrive(
    step: Expand, frame: Frame, demand: Demand, graph: GraphView, evaluator: Evaluator, budget: Budget
) -> Frame | None:
    """The far nodes of one hop, each with the summed multiplicity of the rows that lead there.

    None if other variables of the rows are still read, or if materialising is cheaper.
    """
    near = near_variable(step)
    if step.closes or step.hops != ONE_HOP or not leaves_only(step, frame, demand):
        return None
    way, far = _way_from(step, frame.bindings[near], graph), graph.node_table(step.new_type)
    if way is None:
        return None
    bound = frame.bindings[near] >= 0
    starts = way.lists.near.to_number(frame.bindings[near][bound])
    touched, share = int(way.lists.degrees(starts).sum()), graph.store.tuning.counted_share
    if touched * share <= far.size:
        return None
    exists = demand.multiplicity is Multiplicity.EXISTS
    multiplicity = None if frame.multiplicity is None or exists else frame.multiplicity[bound]
    accepted = way.accepted_edges(graph, evaluator)
    if touched * share < len(way.base.neighbours):
        counts = _walked(way, starts, multiplicity, accepted, budget)
    else:
        budget.check(len(way.base.neighbours) + far.size, 2)
        counts = _arrivals(way, sums(starts, multiplicity, way.lists.near.size), accepted, budget, once=exists)
    numbers = np.flatnonzero(counts)
    nodes = way.lists.far.to_row(numbers)
    # Base lists may lead to nodes that were deleted since; they translate to -1.
    numbers, nodes = numbers[nodes >= 0], nodes[nodes >= 0]
    if step.predicate is not None:
        keep = satisfying(step.predicate, step.new_variable, far, nodes, evaluator)
        numbers, nodes = numbers[keep], nodes[keep]
    name = step.new_variable
    return Frame(len(nodes), {name: far}, {name: nodes}, multiplicity=None if exists else counts[numbers])


def leaves_only(step: Expand, frame: Frame, demand: Demand) -> bool:
    """True if the far end of a step is the only variable of its rows that is read later."""
    near = near_variable(step)
    others = (frame.bindings.keys() | frame.columns.keys()) - {near}
    is_read = near in demand.variables or step.edge_variable in demand.variables
    return not is_read and not any(_is_kept(name, demand) for name in others)


def _is_kept(name: str, demand: Demand) -> bool:
    return name.startswith("#") or name.partition(".")[0] in demand.variables


def _walked(way: Way, starts: Rows, multiplicity: Rows | None, accepted: Mask | None, budget: Budget) -> Rows:
    """The multiplicity that arrives at every far number, by stepping from every start."""
    budget.check(int(way.lists.degrees(starts).sum()), 2)
    position, neighbour, edge = way.lists.step(starts, keep_edges=way.keeps_edges)
    if accepted is not None:
        used = accepted[edge]
        position, neighbour = position[used], neighbour[used]
    return sums(neighbour, None if multiplicity is None else multiplicity[position], way.lists.far.size)


def _arrivals(way: Way, by_node: Rows, accepted: Mask | None, budget: Budget, *, once: bool) -> Rows:
    """The same from a multiplicity per near number, in one pass over the base lists.

    With ``once`` only reachability matters. Example with offsets 0 2 3 3 and neighbours 1 2 2::

        by_node   2 3 0       multiplicity of near numbers 0, 1, 2
        by_slot   2 2 3       repeated once per neighbour
        counts    0 2 5       summed by neighbour: 1 gets 2, 2 gets 2 + 3
    """
    lists, base = way.lists, way.base
    by_node = np.minimum(by_node, 1) if once else by_node
    changed = lists.changed[by_node[lists.changed] > 0] if lists.is_changed else lists.changed[:0]
    more = _walked(way, changed, by_node[changed], accepted, budget) if len(changed) else None
    # Changed nodes were stepped individually above; zero them so that their base lists do not count again.
    by_node = by_node.copy()
    by_node[changed] = 0
    by_node = by_node[: base.nodes]
    neighbours, by_slot, used = base.neighbours, None, None
    if not (by_node == 1).all():
        by_slot = np.repeat(by_node, np.diff(base.offsets))
        used = by_slot > 0
    if accepted is not None:
        allowed = _accepted_slots(lists, accepted)
        used = allowed if used is None else used & allowed
    if used is not None and not used.all():
        neighbours, by_slot = neighbours[used], None if by_slot is None else by_slot[used]
    if by_slot is not None and int(by_slot.max(initial=1)) == 1:
        # Counting without weights is several times faster.
        by_slot = None
    counts = sums(neighbours, by_slot, lists.far.size)
    if more is not None:
        checked(int(counts.max(initial=0)) + int(more.max(initial=0)))
        counts = counts + more
    return counts
