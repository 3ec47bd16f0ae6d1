"""Counted reachability: how many nodes each row reaches, or how many rows reach each node.

The pairs, which may outnumber the graph many times, are never materialised.
"""

from __future__ import annotations

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.multiplicity import checked, product, sums, total
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.mixed import MixedLists
from omnigraph.exec.topology.walkable import Steps
from omnigraph.exec.walk import expand
from omnigraph.exec.walk.counting import by_number, leaves_only, satisfying_all
from omnigraph.exec.walk.reach import Counts, Sink, Visits, reach
from omnigraph.exec.walk.traverse import satisfying
from omnigraph.query.ir import ONE_HOP, Expand
from omnigraph.query.liveness import Demand, Multiplicity, near_variable


@dataclass(frozen=True)
class _Walk:
    """A step of several hops from the rows of a frame."""

    step: Expand
    frame: Frame
    lists: Steps
    loops: Rows
    table: TableView
    evaluator: Evaluator
    budget: Budget

    @property
    def near(self) -> Rows:
        return self.frame.bindings[near_variable(self.step)]

    def reach(self, starts: Rows, sink: Sink) -> None:
        numbers, from_target = self.lists.near.to_number(starts), self.step.from_target
        reach(self.lists, self.loops, numbers, self.step.hops, sink, from_target=from_target, budget=self.budget)


def count_reached(
    step: Expand, frame: Frame, demand: Demand, graph: GraphView, evaluator: Evaluator, budget: Budget
) -> Frame | None:
    """The rows of a multi-hop step without its pairs; None if later operators read both ends."""
    if step.closes or step.hops == ONE_HOP:
        return None
    counts_nodes = step.new_variable not in demand.variables
    if not counts_nodes and not leaves_only(step, frame, demand):
        return None
    topology = graph.walkable(step, frame.bindings[near_variable(step)])
    lists = expand.neighbours(topology, step.direction, reverse=step.from_target)
    walk = _Walk(step, frame, lists, topology.loops, graph.node_table(step.new_type), evaluator, budget)
    is_counted = demand.multiplicity is not Multiplicity.EXISTS
    return _multiplied(walk, is_counted=is_counted) if counts_nodes else _visited(walk, is_counted=is_counted)


def _multiplied(walk: _Walk, *, is_counted: bool) -> Frame:
    """Every row multiplied by the number of nodes it reaches."""
    step, frame, near = walk.step, walk.frame, walk.near
    different = sorted_set(near[near >= 0])
    wanted = walk.lists.wanted() if isinstance(walk.lists, MixedLists) else None
    if step.predicate is not None:
        accepted = satisfying_all(step.predicate, step.new_variable, walk.table, walk.evaluator)
        fitting = by_number(walk.lists.far, accepted.astype(np.int64)) > 0
        wanted = fitting if wanted is None else fitting & wanted
    counts = Counts(np.zeros(len(different), np.int64), wanted)
    walk.reach(different, counts)
    ways = np.zeros(frame.length, np.int64)
    ways[near >= 0] = counts.counts[np.searchsorted(different, near[near >= 0])]
    kept = frame.where(ways > 0)
    return kept.with_multiplicity(product(kept.multiplicity, ways[ways > 0])) if is_counted else kept


def _visited(walk: _Walk, *, is_counted: bool) -> Frame:
    """The reached nodes, each with the summed multiplicity of the rows that reach it."""
    step, frame, bound = walk.step, walk.frame, walk.near >= 0
    near = walk.near[bound]
    different = sorted_set(near)
    multiplicity = None if frame.multiplicity is None else frame.multiplicity[bound]
    # One node may be reached by every start: the total bounds every visit count, so additions need no check.
    checked(total(multiplicity, len(near)))
    by_start = sums(np.searchsorted(different, near), multiplicity, len(different))
    visits = Visits(by_start, np.zeros(walk.lists.numbers, np.int64))
    walk.reach(different, visits)
    numbers = np.flatnonzero(visits.visits)
    nodes = walk.lists.far.to_row(numbers)
    if isinstance(walk.lists, MixedLists):
        own = walk.lists.within(nodes)
        numbers, nodes = numbers[own], nodes[own]
    if step.predicate is not None:
        keep = satisfying(step.predicate, step.new_variable, walk.table, nodes, walk.evaluator)
        numbers, nodes = numbers[keep], nodes[keep]
    name = step.new_variable
    counted = visits.visits[numbers] if is_counted else None
    return Frame(len(nodes), {name: walk.table}, {name: nodes}, multiplicity=counted)
