"""The operators: each takes frames and gives a frame, the last ones give the table of results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from omnigraph.exec import expand, paths, shape
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.group import group
from omnigraph.exec.ranking import score
from omnigraph.exec.scan import scan_rows
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import ColumnCache, Rows, TableView
from omnigraph.exec.topology import Topologies, Topology
from omnigraph.history.state import ManifestState
from omnigraph.query import expressions as ir
from omnigraph.query.explain import describe
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Direction,
    Distinct,
    Expand,
    Filter,
    Group,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    QueryIR,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
)
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.store import Store

_ROW = "#row"
Result = TypeVar("Result")


@dataclass
class Derived:
    """State derived from pins, shared by the queries of a graph; may be dropped at any time."""

    columns: ColumnCache = field(default_factory=ColumnCache)
    topologies: Topologies = field(default_factory=Topologies)
    searcher: Searcher = field(default_factory=Searcher)


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did; ``seconds`` include its inputs."""

    operator: str
    depth: int
    rows: int
    seconds: float


@dataclass
class Runner:
    """Runs one bound query over one snapshot."""

    store: Store
    state: ManifestState
    catalog: Catalog
    derived: Derived
    budget: Budget
    profile: list[OperatorProfile] | None = None
    _depth: int = 0
    _outer: list[Frame] = field(default_factory=list)

    def run(self, query: QueryIR) -> pa.Table:
        """The result, one column per projection."""
        self._evaluator = Evaluator(self.derived.searcher)
        shaped = self._shaped(query.root)
        arrays = [
            column.cast(column_type(item.expression.type)) for column, item in zip(shaped, query.columns, strict=True)
        ]
        fields = [pa.field(item.name, array.type) for item, array in zip(query.columns, arrays, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    # --- shaped results --------------------------------------------------------------------------------

    def _shaped(self, operator: Operator) -> list[pa.Array]:
        """Operators above the projection work on the columns of the result."""
        return self._timed(operator, self._shape, lambda columns: len(columns[0]) if columns else 0)

    def _shape(self, operator: Operator) -> list[pa.Array]:
        match operator:
            case Project():
                frame = self._frame(operator.input)
                return [self._evaluator.column(column.expression, frame) for column in operator.columns]
            case Group():
                return group(operator, self._frame(operator.input), self._evaluator)
            case Distinct():
                columns = self._shaped(operator.input)
                _, first = shape.group_codes(columns, len(columns[0]))
                return _take(columns, first)
            case Sort():
                columns = self._shaped(operator.input)
                keys = [(_output(columns, key.expression), key.descending) for key in operator.keys]
                return _take(columns, shape.sorted_rows(keys, len(columns[0])))
            case Slice():
                columns = self._shaped(operator.input)
                return [column.slice(operator.offset, operator.limit) for column in columns]
            case _:
                raise AssertionError(f"{type(operator).__name__} does not stand above a projection")

    # --- rows ------------------------------------------------------------------------------------------

    def _frame(self, operator: Operator) -> Frame:
        return self._timed(operator, self._rows, lambda frame: frame.length)

    def _rows(self, operator: Operator) -> Frame:
        match operator:
            case Scan():
                table = self._table(f"node:{operator.type_name}")
                rows = scan_rows(table, operator.variable, operator.predicate, self._evaluator)
                return Frame(len(rows), {operator.variable: table}, {operator.variable: rows})
            case Outer():
                return self._outer[-1].restricted((*operator.variables, _ROW + str(len(self._outer))))
            case Expand():
                return self._expand(operator)
            case ShortestPath():
                return self._shortest(operator)
            case CrossJoin():
                left, right = self._frame(operator.left), self._frame(operator.right)
                self.budget.check(left.length * right.length, len(left.bindings) + len(right.bindings))
                return left.cross(right)
            case Filter():
                frame = self._frame(operator.input)
                return frame.where(self._evaluator.mask(operator.predicate, frame))
            case AntiJoin():
                frame = self._frame(operator.input)
                matched = self._inner_rows(self._inner(operator.inner, frame))
                keep = np.ones(frame.length, bool)
                keep[matched] = False
                return frame.where(keep)
            case OptionalJoin():
                return self._optional(operator)
            case Score():
                return score(operator, self._frame(operator.input), self.derived.searcher, self._evaluator)
            case Sort():
                frame = self._frame(operator.input)
                keys = [(self._evaluator.column(key.expression, frame), key.descending) for key in operator.keys]
                return frame.take(shape.sorted_rows(keys, frame.length))
            case Slice():
                frame = self._frame(operator.input)
                stop = frame.length if operator.limit is None else min(operator.offset + operator.limit, frame.length)
                return frame.take(np.arange(min(operator.offset, stop), stop))
            case _:
                raise AssertionError(f"{type(operator).__name__} does not give rows")

    def _table(self, key: str) -> TableView:
        entity = self.catalog.nodes[key[5:]] if key.startswith("node:") else self.catalog.edges[key[5:]]
        return TableView(self.store, self.state.tables[key], entity, self.derived.columns)

    def _topology(self, edge_name: str) -> Topology:
        edge = self.catalog.edges[edge_name]
        tables = (self._table(key) for key in (edge.table_key, f"node:{edge.source}", f"node:{edge.target}"))
        return self.derived.topologies.get(*tables)

    # --- traversal -------------------------------------------------------------------------------------

    def _expand(self, operator: Expand) -> Frame:
        frame = self._frame(operator.input)
        topology = self._topology(operator.edge)
        # The lists of an edge walked inwards lead from its target type.
        lists = expand.neighbours(topology, operator.direction, reverse=operator.from_target and not operator.closes)
        keep_edges = operator.edge_variable is not None
        if operator.closes:
            source, target = frame.bindings[operator.source], frame.bindings[operator.target]
            loops = _loops(topology, operator.hops.high, operator.direction)
            reached = expand.closing(
                lists, loops, source, target, operator.hops, keep_edges=keep_edges, budget=self.budget
            )
        else:
            starts = frame.bindings[operator.target if operator.from_target else operator.source]
            if operator.hops.low == 1 and operator.hops.high == 1:
                reached = expand.one_hop(lists, starts, keep_edges=keep_edges, budget=self.budget)
            else:
                loops = _loops(topology, operator.hops.high, operator.direction)
                reached = expand.many_hops(
                    lists, loops, starts, operator.hops, from_target=operator.from_target, budget=self.budget
                )
        result = frame.take(reached.position)
        if not operator.closes:
            result = result.bind(operator.new_variable, reached.node, self._table(f"node:{operator.new_type}"))
        if operator.edge_variable is not None and reached.edge is not None:
            result = result.bind(operator.edge_variable, reached.edge, self._table(f"edge:{operator.edge}"))
        for predicate in (operator.edge_predicate, operator.predicate):
            if predicate is not None:
                result = result.where(self._evaluator.mask(predicate, result))
        return result

    def _shortest(self, operator: ShortestPath) -> Frame:
        frame = self._frame(operator.input)
        topology = self._topology(operator.edge)
        lists = expand.neighbours(topology, operator.direction, reverse=False)
        found = paths.shortest_paths(
            lists,
            _loops(topology, operator.hops.high, operator.direction),
            frame.bindings[operator.source],
            frame.bindings[operator.target],
            operator.hops,
            wants_nodes=operator.wants_nodes,
            budget=self.budget,
        )
        result = frame.take(found.position)
        result = result.with_column(f"{operator.path_variable}.length", pa.array(found.length))
        if found.nodes is not None:
            result = result.with_column(f"{operator.path_variable}.nodes", self._path_ids(operator, frame, found.nodes))
        return result

    def _path_ids(self, operator: ShortestPath, frame: Frame, nodes: list[list[int]]) -> pa.Array:
        if not nodes:
            return pa.array([], pa.list_(pa.string()))
        edge = self.catalog.edges[operator.edge]
        if edge.is_homogeneous:
            flat = np.array([node for path in nodes for node in path], np.int64)
            ids = frame.tables[operator.source].values("id", flat)
            offsets = np.concatenate(([0], np.cumsum([len(path) for path in nodes])))
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ids)
        ends = [(path[0], path[-1]) for path in nodes]
        first = frame.tables[operator.source].values("id", np.array([end[0] for end in ends])).to_pylist()
        last = frame.tables[operator.target].values("id", np.array([end[1] for end in ends])).to_pylist()
        return pa.array([list(pair) for pair in zip(first, last, strict=True)], pa.list_(pa.string()))

    # --- inner blocks ----------------------------------------------------------------------------------

    def _inner(self, operator: Operator, outer: Frame) -> Frame:
        """Run an inner block for all outer rows at once; every result row knows its outer row."""
        name = _ROW + str(len(self._outer) + 1)
        self._outer.append(outer.with_column(name, pa.array(np.arange(outer.length))))
        try:
            return self._frame(operator)
        finally:
            self._outer.pop()

    def _inner_rows(self, inner: Frame) -> Rows:
        rows: Rows = inner.columns[_ROW + str(len(self._outer) + 1)].to_numpy(zero_copy_only=False)
        return rows

    def _optional(self, operator: OptionalJoin) -> Frame:
        frame = self._frame(operator.input)
        inner = self._inner(operator.inner, frame)
        matched = self._inner_rows(inner)
        alone = np.ones(frame.length, bool)
        alone[matched] = False
        missing = np.flatnonzero(alone)
        result = frame.take(np.concatenate((matched, missing)))
        for name in operator.introduces:
            if name in inner.bindings:
                rows = np.concatenate((inner.bindings[name], np.full(len(missing), -1, np.int64)))
                result = result.bind(name, rows, inner.tables[name])
            for column, values in inner.columns.items():
                if column.startswith(f"{name}."):
                    result = result.with_column(column, pa.concat_arrays([values, pa.nulls(len(missing), values.type)]))
        return result

    # --- profiling -------------------------------------------------------------------------------------

    def _timed(self, operator: Operator, run: Callable[[Operator], Result], rows: Callable[[Result], int]) -> Result:
        self.budget.check()
        if self.profile is None:
            return run(operator)
        place = len(self.profile)
        self.profile.append(OperatorProfile(describe(operator), self._depth, 0, 0.0))
        self._depth += 1
        started = time.perf_counter()
        result = run(operator)
        self._depth -= 1
        seconds = time.perf_counter() - started
        self.profile[place] = replace(self.profile[place], rows=rows(result), seconds=seconds)
        return result


def _loops(topology: Topology, hops_max: int, direction: Direction) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Self-loops matter only where an edge can be walked on; between two types there are none."""
    if topology.source_nodes != topology.target_nodes or hops_max < 1:
        return np.zeros(max(topology.source_nodes, topology.target_nodes), bool)
    return topology.loops


def _take(columns: list[pa.Array], rows: Rows) -> list[pa.Array]:
    indices = pa.array(rows)
    return [column.take(indices) for column in columns]


def _output(columns: list[pa.Array], expression: ir.Expr) -> pa.Array:
    assert isinstance(expression, ir.Output), "what is sorted after shaping is a column of the result"
    return columns[expression.position]
