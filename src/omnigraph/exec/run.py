"""Row operators: each consumes frames and returns a frame with the columns that its demand names."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.profile import Profiler
from omnigraph.exec.blocks import InnerBlocks, have_matches, with_matches
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame, stacked
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.scan import scan_rows, scan_whole
from omnigraph.exec.shape.order import bounds
from omnigraph.exec.shape.partitions import ordered, rows_at_once
from omnigraph.exec.shape.row_groups import collapse
from omnigraph.exec.shape.shaped import FrameReader
from omnigraph.exec.stages import FormerStages
from omnigraph.exec.whole.edges import is_every_edge
from omnigraph.exec.whole.rows import Whole
from omnigraph.query import expressions as ir
from omnigraph.query.explain import describe
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Expand,
    Filter,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
    Stage,
    Union,
)
from omnigraph.query.liveness import Demand, Multiplicity, forgotten_walk, inner_demand, input_demand
from omnigraph.query.variables import walk

if TYPE_CHECKING:
    from omnigraph.exec.rank.best import Wanted

FOUND = ir.ComputedPart.FOUND.value


@dataclass
class Chunk:
    """A half-open range of the rows of a scan."""

    start: int
    stop: int
    whole: Frame | None = None


@dataclass
class Runner:
    """Runs the operators below the projection of one bound query over one snapshot."""

    graph: GraphView
    budget: Budget
    profiler: Profiler
    former: FormerStages
    _wanted: Wanted | None = None
    """A ranking whose first rows suffice for the query."""
    _blocks: InnerBlocks = field(default_factory=InnerBlocks)
    _chunks: dict[int, Chunk] = field(default_factory=dict)
    """The current chunk of scans that run in chunks, by the identity of the operator."""
    _sides: dict[int, Frame | None] = field(default_factory=dict)
    """Cached right sides of cross joins that run once per chunk."""

    def __post_init__(self) -> None:
        self._tuning = self.graph.store.tuning
        self._searcher = self.graph.derived.searcher
        self.evaluator = Evaluator(self._searcher, self.budget)

    def frame(self, operator: Operator, demand: Demand) -> Frame:
        """The rows of an operator, reduced to the demand."""
        self.budget.check()
        with self.profiler.step(operator, describe) as step:
            made = self._noted(operator, demand)
            step.rows = made.length
        return made.kept(demand.variables, demand.reads)

    def whole(self, operator: Operator, demand: Demand) -> Whole | None:
        """The rows of an operator, if they are rows of one large table."""
        match operator:
            case Scan():
                table = self.graph.node_table(operator.type_name)
            case Expand() if is_every_edge(operator, demand):
                table = self.graph.edge_table(operator.edge)
            case _:
                return None
        if table.rows < self._tuning.whole_rows_min:
            return None
        if isinstance(operator, Expand) and not self.graph.topology(operator.edge).is_complete:
            # Edges without a node are not matched.
            return None
        self.budget.check()
        with self.profiler.step(operator, describe) as step:
            found = scan_whole(table, *_scanned(operator), self.evaluator)
            self._note()
            step.rows = found.length
        return found

    def _input(self, operator: Operator, demand: Demand) -> Frame:
        """The rows of the operator directly below."""
        assert not isinstance(operator, Scan | Outer | CrossJoin | Union | Stage)
        return self.frame(operator.input, input_demand(operator, demand))

    def _noted(self, operator: Operator, demand: Demand) -> Frame:
        """The rows; records the indexes and access paths used as remarks."""
        made = self._rows(operator, demand)
        self._note()
        return made

    def _note(self) -> None:
        for index in self.evaluator.uses:
            self.graph.remarks.append(str(index))
        self.graph.remarks.extend(self.evaluator.notes)
        self.evaluator.uses.clear()
        self.evaluator.notes.clear()

    def _rows(self, operator: Operator, demand: Demand) -> Frame:
        match operator:
            case Scan():
                return self._scan(operator)
            case Outer():
                return self._blocks.outer()
            case Expand():
                return self._expand(operator, demand)
            case ShortestPath():
                from omnigraph.exec.walk.traverse import shortest_rows

                frame = self._collapsed(self._input(operator, demand), demand)
                return shortest_rows(operator, frame, self.graph, self.budget)
            case CrossJoin():
                return self._cross(operator, demand)
            case Filter():
                return self._filtered(operator, self._input(operator, demand))
            case AntiJoin() | Mark() | OptionalJoin():
                return self._joined(operator, demand)
            case Score():
                return self._scored(operator, self._input(operator, demand))
            case Sort():
                return self._sorted(operator, demand, None)
            case Slice():
                return self._slice(operator, demand)
            case Stage():
                return self.former.frame(operator, demand)
            case _:
                raise AssertionError(f"{type(operator).__name__} does not give rows")

    def _scan(self, operator: Scan) -> Frame:
        chunk = self._chunks.get(id(operator))
        if chunk is None or chunk.whole is None:
            table = self.graph.node_table(operator.type_name)
            rows = scan_rows(table, operator.variable, operator.predicate, self.evaluator)
            frame = Frame(len(rows), {operator.variable: table}, {operator.variable: rows})
            if chunk is None:
                return frame
            chunk.whole = frame
        return chunk.whole.rows(min(chunk.start, chunk.whole.length), min(chunk.stop, chunk.whole.length))

    def _filtered(self, operator: Filter, frame: Frame) -> Frame:
        rows, reader = np.arange(frame.length), FrameReader(frame, self.evaluator)
        reads = [reader.read(expression) for expression in _fetched(operator.predicate)]
        size = rows_at_once(reads, rows, self.budget, frame.nbytes, self._tuning)
        if frame.length <= size:
            return frame.where(self.evaluator.mask(operator.predicate, frame))
        starts = range(0, frame.length, size)
        parts = [frame.rows(start, min(start + size, frame.length)) for start in starts]
        return frame.where(np.concatenate([self.evaluator.mask(operator.predicate, part) for part in parts]))

    def _scored(self, operator: Score, frame: Frame) -> Frame:
        from omnigraph.exec.rank.best import best_rows
        from omnigraph.exec.rank.ranking import score

        if self._wanted is not None and self._wanted.operator is operator:
            frame = best_rows(self._wanted, frame, self._searcher, self.evaluator.uses)
        return score(operator, frame, self._searcher, self.evaluator.uses)

    def _sorted(self, operator: Sort, demand: Demand, stop: int | None) -> Frame:
        """Sorted rows: all, or the first ``stop``."""
        # A limit counts rows, so rows with a multiplicity above one must not reach this operator.
        assert not demand.may_collapse
        frame = self._input(operator, demand)
        reader = FrameReader(frame, self.evaluator)
        keys = [(reader.read(key.expression), key.descending) for key in operator.keys]
        rows = np.arange(frame.length)
        wanted = frame.length if stop is None else min(stop, frame.length)
        if frame.length < self._tuning.selected_rows_min:
            reader.prepare(rows)
        size = rows_at_once([read for read, _ in keys], rows, self.budget, frame.nbytes, self._tuning)
        if size < frame.length:
            self.graph.remarks.append(f"sorted in parts of about {size:,} rows")
        return frame.take(ordered(keys, rows, wanted, size, self._tuning))

    def _slice(self, operator: Slice, demand: Demand) -> Frame:
        assert not demand.may_collapse
        below, stop = operator.input, None if operator.limit is None else operator.offset + operator.limit
        if isinstance(below, Sort):
            self.budget.check()
            self._wanted = None
            if isinstance(below.input, Score):
                from omnigraph.exec.rank.best import wanted_rows

                self._wanted = wanted_rows(operator)
            with self.profiler.step(below, describe) as step:
                frame = self._sorted(below, demand, stop)
                step.rows = frame.length
        elif stop is not None and (pipeline := _pipeline(below)):
            frame = self._first_few(pipeline, demand, stop)
        else:
            frame = self._input(operator, demand)
        start, end = bounds(operator, frame.length)
        return frame.rows(start, end)

    def _first_few(self, pipeline: list[Operator], demand: Demand, stop: int) -> Frame:
        """Rows of a pipeline over growing chunks of its scan, until there are enough."""
        top, scan = pipeline[0], pipeline[-1]
        self._sides.update({id(operator): None for operator in pipeline if isinstance(operator, CrossJoin)})
        chunk = self._chunks[id(scan)] = Chunk(0, self._tuning.chunk_rows_min)
        made = [self.frame(top, demand)]
        rows = made[0].length
        while rows < stop and chunk.whole is not None and chunk.stop < chunk.whole.length:
            rows_next = (chunk.stop - chunk.start) * self._tuning.chunk_growth
            chunk.start, chunk.stop = chunk.stop, chunk.stop + rows_next
            made.append(self.frame(top, demand))
            rows += made[-1].length
        if chunk.whole is not None and chunk.stop < chunk.whole.length:
            self.graph.remarks.append(f"stopped after {chunk.stop:,} of {chunk.whole.length:,} rows of the scan")
        return stacked(made)

    def _cross(self, operator: CrossJoin, demand: Demand) -> Frame:
        left = self._collapsed(self.frame(operator.left, demand), demand)
        right = self._sides.get(id(operator))
        if right is None:
            right = self._collapsed(self.frame(operator.right, demand), demand)
        if id(operator) in self._sides:
            self._sides[id(operator)] = right
        self.budget.check(left.length * right.length, len(left.bindings) + len(right.bindings))
        return left.cross(right)

    def _joined(self, operator: AntiJoin | Mark | OptionalJoin, demand: Demand) -> Frame:
        frame = self._input(operator, demand)
        if isinstance(operator, OptionalJoin):
            frame = self._collapsed(frame, demand)
        wanted = inner_demand(operator, demand)
        matches = self._blocks.run(operator.inner, frame, lambda: self.frame(operator.inner, wanted))
        if isinstance(operator, AntiJoin):
            return frame.where(~have_matches(matches))
        if isinstance(operator, Mark):
            return frame.with_column(f"{operator.variable}.{FOUND}", pa.array(have_matches(matches)))
        return with_matches(operator, frame, matches, self.budget)

    def _expand(self, operator: Expand, demand: Demand) -> Frame:
        from omnigraph.exec.walk.counting import forget_walk
        from omnigraph.exec.walk.traverse import expand_rows

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
            self.graph.remarks.append(f"{len(steps)} hops counted without materialising walks")
            return walked
        for step, wanted in zip(steps[:-1], demands[1:-1], strict=True):
            with self.profiler.step(step, describe) as measured:
                frame = self._step(step, frame, wanted)
                measured.rows = frame.length
        return self._step(operator, frame, demand)

    def _below(self, steps: tuple[Expand, ...], demand: Demand) -> Frame:
        """The input rows of a walk; its steps are opened in the profile so that they nest as in the plan."""
        if len(steps) == 1:
            return self.frame(steps[0].input, demand)
        with self.profiler.step(steps[-2], describe):
            return self._below(steps[:-1], demand)

    def _step(self, step: Expand, frame: Frame, demand: Demand) -> Frame:
        """Expand one edge where equal rows may be collapsed."""
        from omnigraph.exec.walk.counting import arrive
        from omnigraph.exec.walk.reach_counts import count_reached
        from omnigraph.exec.walk.traverse import expand_rows

        self.budget.check()
        made = arrive(step, frame, demand, self.graph, self.evaluator, self.budget)
        if made is not None:
            self.graph.remarks.append("aggregated per node without materialising rows")
        else:
            made = count_reached(step, frame, demand, self.graph, self.evaluator, self.budget)
        if made is None:
            made = expand_rows(step, self._collapsed(frame, demand), self.graph, self.evaluator, self.budget)
        return made.kept(demand.variables, demand.reads)

    def _collapsed(self, frame: Frame, demand: Demand) -> Frame:
        """The rows with equal ones collapsed, if the demand allows it; done before an operator multiplies rows."""
        if not demand.may_collapse:
            return frame
        is_counted = demand.multiplicity is Multiplicity.COUNTED
        return collapse(frame, self._tuning.collapsed_rows_min, counted=is_counted)


def _scanned(operator: Scan | Expand) -> tuple[str, ir.Expr | None]:
    """The variable and predicate of a scan of nodes or of edges."""
    if isinstance(operator, Scan):
        return operator.variable, operator.predicate
    assert operator.edge_variable is not None
    return operator.edge_variable, operator.edge_predicate


def _fetched(predicate: ir.Expr) -> list[ir.Expr]:
    """The properties that a predicate reads."""
    return [part for part in walk(predicate) if isinstance(part, ir.Property | ir.EntityId)]


def _pipeline(operator: Operator) -> list[Operator]:
    """Operators down to a scan if all of them can stream, that is work on one chunk after the other; else empty."""
    found = [operator]
    while not isinstance(operator, Scan):
        match operator:
            case Expand() | ShortestPath() | Filter() | AntiJoin() | Mark() | OptionalJoin():
                operator = operator.input
            case CrossJoin():
                operator = operator.left
            case _:
                return []
        found.append(operator)
    return found if len(found) > 1 else []
