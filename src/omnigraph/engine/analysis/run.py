"""``graph.analyze``: graph algorithms on one commit, in this process or on Spark.

The registry (``exec/analytics/registry.py``) declares the algorithms. The methods here give them typed signatures; a
test compares every signature with its row. An algorithm without a method runs through ``run``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol, TypedDict, Unpack

import pyarrow as pa

from omnigraph.engine import plugs
from omnigraph.engine.analysis.checkpoints import rounds_of
from omnigraph.engine.analysis.result import AnalysisResult, LoadWith
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, check_engine
from omnigraph.engine.query.choice import is_for_spark
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.analytics.algorithms import NodeValues, Work
from omnigraph.exec.analytics.chosen import ChosenEdges, choose_edges
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.nodes import NodeRef, NodeSpace
from omnigraph.exec.analytics.registry import Algorithm, Settings, find_algorithm
from omnigraph.exec.analytics.sparse import require_scipy
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.manifest.layout import MAIN


class TargetOptions(TypedDict, total=False):
    """Options of every algorithm: the commit to read, and the engine."""

    branch: str | None
    at: str | datetime | None
    engine: str
    spark: Any
    partitions: int | None


class RoundsOptions(TargetOptions, total=False):
    """The same for an iterative algorithm."""

    checkpoint: str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class AnalysisTarget:
    """The edges and commit to analyse, and the engine. ``partitions`` is the number of edge blocks on Spark."""

    edges: Sequence[str] | str | None = None
    branch: str | None = None
    at: str | datetime | None = None
    engine: str = "auto"
    spark: Any = None
    partitions: int | None = None
    checkpoint: str | os.PathLike[str] | None = None


_TARGET_OPTIONS = frozenset(field.name for field in fields(AnalysisTarget))


class OpenSnapshot(Protocol):
    """``Graph.snapshot``."""

    def __call__(self, branch: str | None = None, *, at: str | datetime | None = None) -> Snapshot: ...


class Analysis:
    """Graph algorithms by name. All of them accept these options, by name (``edges`` also by position):

    - ``edges``: the edge types, by default all. Every node of their endpoint types takes part.
    - ``branch``, ``at``: the commit to read, as in ``graph.query``.
    - ``engine``: ``embedded`` in this process, ``spark``, or ``auto``, which chooses Spark above a number of edges.
    - ``spark``, ``partitions``: a Spark session instead of the default one, and the number of edge blocks on it.
    - ``checkpoint``, for iterative algorithms: a directory or ``s3://...`` for checkpoints, written every few rounds.
      A run with the same settings on the same commit resumes from there; a finished run deletes its checkpoint.
    """

    def __init__(self, open_snapshot: OpenSnapshot, derived: Derived, load_with: LoadWith) -> None:
        self._snapshot = open_snapshot
        self._derived = derived
        self._load_with = load_with

    def run(self, algorithm: str, edges: Sequence[str] | str | None = None, **options: Any) -> AnalysisResult:
        """Run any registered algorithm by name; options are its parameters and those of every algorithm."""
        row = find_algorithm(algorithm)
        target = {name: options.pop(name) for name in tuple(options) if name in _TARGET_OPTIONS}
        return self._run(row, AnalysisTarget(edges, **target), row.settings(options))

    def pagerank(
        self,
        edges: Sequence[str] | str | None = None,
        *,
        damping: float = 0.85,
        tolerance: float = 1e-6,
        max_iterations: int = 100,
        personalization: Mapping[NodeRef, float] | None = None,
        weight: str | None = None,
        directed: bool = True,
        **target: Unpack[RoundsOptions],
    ) -> AnalysisResult:
        """``rank``: PageRank, the importance of a node by its incoming edges; ranks add up to one.

        ``personalization`` maps nodes (ids, or pairs of type and id) to restart weights. With ``weight`` the walk
        follows edges in proportion to that property.
        """
        return self.run(
            "pagerank",
            edges,
            damping=damping,
            tolerance=tolerance,
            max_iterations=max_iterations,
            personalization=personalization,
            weight=weight,
            directed=directed,
            **target,
        )

    def components(
        self, edges: Sequence[str] | str | None = None, *, strong: bool = False, **target: Unpack[RoundsOptions]
    ) -> AnalysisResult:
        """``component``: the number of the node's connected component, weak by default or ``strong``.

        Components are numbered from 0 in the order of their first node by type and id.
        """
        return self.run("components", edges, strong=strong, **target)

    def label_propagation(
        self, edges: Sequence[str] | str | None = None, *, max_iterations: int = 20, **target: Unpack[RoundsOptions]
    ) -> AnalysisResult:
        """``community``: communities by label propagation, numbered like components.

        In every round all nodes take the most common label of their neighbours, the smallest of equally common ones.
        Propagation stops when no label changes, or after ``max_iterations``. Direction and parallel edges are ignored.
        """
        return self.run("label_propagation", edges, max_iterations=max_iterations, **target)

    def shortest_paths(
        self,
        sources: Iterable[NodeRef],
        edges: Sequence[str] | str | None = None,
        *,
        weight: str | None = None,
        max_distance: float | None = None,
        directed: bool = True,
        **target: Unpack[RoundsOptions],
    ) -> AnalysisResult:
        """``distance`` from the nearest source: in hops, or the sum of a ``weight``; null if unreachable.

        The search stops at ``max_distance``.
        """
        return self.run(
            "shortest_paths",
            edges,
            sources=sources,
            weight=weight,
            max_distance=max_distance,
            directed=directed,
            **target,
        )

    def triangles(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``triangles``: the number a node is part of. Direction, parallel edges and self-loops are ignored."""
        return self.run("triangles", edges, **target)

    def degrees(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``degree``, ``in_degree`` and ``out_degree``: the number of edges of a node; parallel edges count each."""
        return self.run("degrees", edges, **target)

    def _run(self, algorithm: Algorithm, target: AnalysisTarget, settings: Settings) -> AnalysisResult:
        require_scipy()
        snapshot = self._snapshot(target.branch, at=target.at)
        weight, form = settings.get("weight"), algorithm.form(settings)
        chosen = choose_edges(snapshot.catalog, target.edges, weight)
        with snapshot.reading():
            view = GraphView(snapshot.store, snapshot.state, snapshot.catalog, self._derived)
            space = NodeSpace.of(view, chosen.node_types)
            identity = {**algorithm.identity(settings), "edges": [edge.name for edge in chosen.edges]}
            rounds = rounds_of(target.checkpoint, snapshot, algorithm.name, identity)
            is_weighted = weight is not None
            if is_on_spark(target, snapshot, chosen):
                spark_form = form if algorithm.spark_form is None else algorithm.spark_form(settings)
                with plugs.cluster().spark_steps(
                    snapshot, space, chosen, spark_form, target.spark, target.partitions
                ) as steps:
                    found = algorithm.run(Work(steps, space, rounds, is_weighted), settings)
            else:
                steps = LocalSteps(view, space, chosen, form)
                found = algorithm.run(Work(steps, space, rounds, is_weighted), settings)
        rounds.done()
        return AnalysisResult(
            algorithm.name,
            _rows(space, found),
            None if target.at is not None else target.branch or MAIN,
            snapshot.commit_id,
            facts=found.facts,
            _load_with=self._load_with,
            _space=space,
            _values=found.columns,
        )


def is_on_spark(target: AnalysisTarget, snapshot: Snapshot, chosen: ChosenEdges) -> bool:
    """True if the analysis runs on Spark: by the caller's choice, or by the number of edges."""
    if check_engine(target.engine) != AUTO:
        return target.engine == BY_SPARK
    return is_for_spark(sum(snapshot.state.tables[edge.table_key].rows for edge in chosen.edges))


def _rows(space: NodeSpace, found: NodeValues) -> ResultRows:
    fields = [("type", pa.utf8()), ("id", pa.utf8()), *((name, array.type) for name, array in found.columns.items())]

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        return [*space.columns(start, stop), *(array.slice(start, stop - start) for array in found.columns.values())]

    return ResultRows(pa.schema(fields), space.size, read)
