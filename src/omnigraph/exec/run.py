"""The operators that give rows: each takes frames and gives a frame, knowing what is still wanted of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from omnigraph.exec.blocks import InnerBlocks, with_matches, without_matches
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.multiplicity import arrive, forget_walk
from omnigraph.exec.order import bounds, first_rows, frame_keys
from omnigraph.exec.profile import Profiler
from omnigraph.exec.ranking import score
from omnigraph.exec.row_groups import collapse
from omnigraph.exec.scan import scan_rows
from omnigraph.exec.traverse import expand_rows, shortest_rows
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Expand,
    Filter,
    Operator,
    OptionalJoin,
    Outer,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
)
from omnigraph.query.liveness import Demand, Multiplicity, forgotten_walk, inner_demand, input_demand


@dataclass
class Runner:
    """Runs the operators below the projection of one bound query over one snapshot."""

    graph: GraphView
    budget: Budget
    profiler: Profiler = field(default_factory=Profiler)
    _blocks: InnerBlocks = field(default_factory=InnerBlocks)

    def __post_init__(self) -> None:
        self._searcher = self.graph.derived.searcher
        self.evaluator = Evaluator(self._searcher, self.budget)

    def frame(self, operator: Operator, demand: Demand) -> Frame:
        """The rows of an operator, with what is wanted of them."""
        self.budget.check()
        made = self.profiler.timed(operator, lambda: self._rows(operator, demand), lambda frame: frame.length)
        return made.kept(demand.variables, demand.reads)

    def _input(self, operator: Operator, demand: Demand) -> Frame:
        """The rows of the operator directly below."""
        assert not isinstance(operator, Scan | Outer | CrossJoin)
        return self.frame(operator.input, input_demand(operator, demand))

    def _rows(self, operator: Operator, demand: Demand) -> Frame:
        match operator:
            case Scan():
                table = self.graph.node_table(operator.type_name)
                rows = scan_rows(table, operator.variable, operator.predicate, self.evaluator)
                return Frame(len(rows), {operator.variable: table}, {operator.variable: rows})
            case Outer():
                return self._blocks.outer()
            case Expand():
                return self._expand(operator, demand)
            case ShortestPath():
                frame = _collapsed(self._input(operator, demand), demand)
                return shortest_rows(operator, frame, self.graph, self.budget)
            case CrossJoin():
                left, right = (_collapsed(self.frame(side, demand), demand) for side in (operator.left, operator.right))
                self.budget.check(left.length * right.length, len(left.bindings) + len(right.bindings))
                return left.cross(right)
            case Filter():
                frame = self._input(operator, demand)
                return frame.where(self.evaluator.mask(operator.predicate, frame))
            case AntiJoin() | OptionalJoin():
                return self._joined(operator, demand)
            case Score():
                return score(operator, self._input(operator, demand), self._searcher)
            case Sort():
                return self._sorted(operator, demand, None)
            case Slice():
                return self._slice(operator, demand)
            case _:
                raise AssertionError(f"{type(operator).__name__} does not give rows")

    def _sorted(self, operator: Sort, demand: Demand, stop: int | None) -> Frame:
        """Rows in order: all of them, or the first so many."""
        # Rows are ordered and cut where each is one of the result; nothing above has let them collapse.
        assert not demand.may_collapse
        frame = self._input(operator, demand)
        keys = frame_keys(operator.keys, frame, self.evaluator)
        wanted = frame.length if stop is None else min(stop, frame.length)
        return frame.take(first_rows(keys, np.arange(frame.length), wanted))

    def _slice(self, operator: Slice, demand: Demand) -> Frame:
        assert not demand.may_collapse
        below, stop = operator.input, None if operator.limit is None else operator.offset + operator.limit
        if isinstance(below, Sort):
            self.budget.check()
            frame = self.profiler.timed(below, lambda: self._sorted(below, demand, stop), lambda made: made.length)
        else:
            frame = self._input(operator, demand)
        start, end = bounds(operator, frame.length)
        return frame.rows(start, end)

    def _joined(self, operator: AntiJoin | OptionalJoin, demand: Demand) -> Frame:
        frame = self._input(operator, demand)
        if isinstance(operator, OptionalJoin):
            frame = _collapsed(frame, demand)
        wanted = inner_demand(operator, demand)
        matches = self._blocks.run(operator.inner, frame, lambda: self.frame(operator.inner, wanted))
        if isinstance(operator, AntiJoin):
            return without_matches(frame, matches)
        return with_matches(operator, frame, matches, self.budget)

    # --- following edges -------------------------------------------------------------------------------

    def _expand(self, operator: Expand, demand: Demand) -> Frame:
        if not demand.may_collapse:
            return expand_rows(operator, self._input(operator, demand), self.graph, self.evaluator, self.budget)
        forgotten = forgotten_walk(operator, demand)
        steps = forgotten or (operator,)
        demands = [demand]
        for step in reversed(steps):
            demands.insert(0, input_demand(step, demands[0]))
        frame = self._below(steps, demands[0])
        walked = forget_walk(steps, frame, demand, self.graph, self.evaluator) if forgotten else None
        if walked is not None:
            return walked
        for step, wanted in zip(steps[:-1], demands[1:-1], strict=True):
            frame = self.profiler.timed(step, partial(self._step, step, frame, wanted), lambda made: made.length)
        return self._step(operator, frame, demand)

    def _below(self, steps: tuple[Expand, ...], demand: Demand) -> Frame:
        """The rows that a walk starts from; its steps take their places in the profile."""
        if len(steps) == 1:
            return self.frame(steps[0].input, demand)
        return self.profiler.timed(steps[-2], lambda: self._below(steps[:-1], demand), lambda _: 0)

    def _step(self, step: Expand, frame: Frame, demand: Demand) -> Frame:
        """Follow one edge from rows that may collapse."""
        self.budget.check()
        made = arrive(step, frame, demand, self.graph, self.evaluator, self.budget)
        if made is None:
            made = expand_rows(step, _collapsed(frame, demand), self.graph, self.evaluator, self.budget)
        return made.kept(demand.variables, demand.reads)


def _collapsed(frame: Frame, demand: Demand) -> Frame:
    """The rows before they multiply, each different one once if that is allowed."""
    if not demand.may_collapse:
        return frame
    return collapse(frame, counted=demand.multiplicity is Multiplicity.COUNTED)
