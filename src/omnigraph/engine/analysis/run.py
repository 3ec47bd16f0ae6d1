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

from omnigraph.core.calls.arguments import checked_methods
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine import plugs
from omnigraph.engine.analysis.checkpoints import rounds_of
from omnigraph.engine.analysis.result import AnalysisResult, LoadWith, Source
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, check_engine
from omnigraph.engine.query.choice import is_for_spark
from omnigraph.engine.query.drawable import Drawable
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.analytics.chosen import ChosenEdges, choose_edges
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.nodes import NodeRef, NodeSpace
from omnigraph.exec.analytics.registry import ALGORITHMS, Algorithm, Settings, find_algorithm
from omnigraph.exec.analytics.result_rows import value_rows, walk_rows
from omnigraph.exec.analytics.sparse import require_scipy
from omnigraph.exec.analytics.work import Walks, Work
from omnigraph.exec.graph_view import Derived, GraphView
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


@checked_methods("graph.analyze")
class Analysis(Displayed):
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

    def _display(self) -> Display:
        rows = [(row.name, ", ".join(row.columns), row.summary) for row in ALGORITHMS.values()]
        return Display(f"Analysis: {counted(len(rows), 'algorithm')}", ("algorithm", "columns", "summary"), rows)

    def run(self, /, algorithm: str, edges: Sequence[str] | str | None = None, **options: Any) -> AnalysisResult:
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
        self,
        edges: Sequence[str] | str | None = None,
        *,
        max_iterations: int = 20,
        seed: str | None = None,
        directed: bool = False,
        **target: Unpack[RoundsOptions],
    ) -> AnalysisResult:
        """``community``: communities by label propagation, numbered like components.

        In every round all nodes take the most common label of their neighbours, the smallest of equally common ones.
        Propagation stops when no label changes, or after ``max_iterations``. Parallel edges count once. ``seed`` is an
        integer node property with the initial labels, which are then the result. With ``directed`` a neighbour counts
        twice if there are edges in both directions.
        """
        return self.run(
            "label_propagation", edges, max_iterations=max_iterations, seed=seed, directed=directed, **target
        )

    def louvain(
        self,
        edges: Sequence[str] | str | None = None,
        *,
        resolution: float = 1.0,
        tolerance: float = 1e-7,
        max_levels: int = 10,
        weight: str | None = None,
        **target: Unpack[RoundsOptions],
    ) -> AnalysisResult:
        """``community``: communities of high modularity, numbered like components. Directions are ignored."""
        return self.run(
            "louvain",
            edges,
            resolution=resolution,
            tolerance=tolerance,
            max_levels=max_levels,
            weight=weight,
            **target,
        )

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

    def betweenness(
        self,
        edges: Sequence[str] | str | None = None,
        *,
        samples: int | None = None,
        seed: int = 0,
        normalized: bool = True,
        directed: bool = True,
        **target: Unpack[RoundsOptions],
    ) -> AnalysisResult:
        """``betweenness``: the share of shortest paths, in hops, that lead through a node.

        With ``samples``, only paths from that many random nodes are followed, and the result is scaled to all.
        """
        return self.run(
            "betweenness", edges, samples=samples, seed=seed, normalized=normalized, directed=directed, **target
        )

    def triangles(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``triangles``: the number a node is part of. Direction, parallel edges and self-loops are ignored."""
        return self.run("triangles", edges, **target)

    def local_clustering(
        self, edges: Sequence[str] | str | None = None, *, directed: bool = True, **target: Unpack[TargetOptions]
    ) -> AnalysisResult:
        """``coefficient``: the share of possible edges between the neighbours of a node that exist.

        Neighbours are at the other end of an edge in either direction. With ``directed`` two of them can be connected
        by two edges. Parallel edges and self-loops are ignored.
        """
        return self.run("local_clustering", edges, directed=directed, **target)

    def k_core(self, edges: Sequence[str] | str | None = None, **target: Unpack[RoundsOptions]) -> AnalysisResult:
        """``core``: the largest k of a subgraph with the node in which every node has at least k neighbours.

        Direction, parallel edges and self-loops are ignored.
        """
        return self.run("k_core", edges, **target)

    def random_walks(
        self,
        edges: Sequence[str] | str | None = None,
        *,
        walks: int = 1,
        length: int = 10,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        weight: str | None = None,
        directed: bool = True,
        **target: Unpack[TargetOptions],
    ) -> AnalysisResult:
        """``walk``: random walks from every node, a row for each, as lists of ids; see ``AnalysisResult.pairs``.

        ``p`` and ``q`` are the return and in-out parameters of node2vec. A walk has at most ``length`` nodes and ends
        at a node without outgoing edges.
        """
        return self.run(
            "random_walks",
            edges,
            walks=walks,
            length=length,
            p=p,
            q=q,
            seed=seed,
            weight=weight,
            directed=directed,
            **target,
        )

    def degrees(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``degree``, ``in_degree`` and ``out_degree``: the number of edges of a node; parallel edges count each."""
        return self.run("degrees", edges, **target)

    def _run(self, algorithm: Algorithm, target: AnalysisTarget, settings: Settings) -> AnalysisResult:
        require_scipy()
        snapshot = self._snapshot(target.branch, at=target.at)
        snapshot.require_whole()
        weight, form = settings.get("weight"), algorithm.form(settings)
        chosen = choose_edges(snapshot.catalog, target.edges, weight)
        with snapshot.reading():
            view = GraphView(snapshot.store, snapshot.state, snapshot.catalog, self._derived)
            space = NodeSpace.of(view, chosen.node_types)
            identity = {**algorithm.identity(settings), "edges": [edge.name for edge in chosen.edges]}
            rounds, scratch = rounds_of(target.checkpoint, snapshot, algorithm.name, identity)
            is_weighted = weight is not None
            if is_on_spark(target, snapshot, chosen):
                spark_form = form if algorithm.spark_form is None else algorithm.spark_form(settings)
                with plugs.cluster().spark_steps(
                    snapshot, space, chosen, spark_form, target.spark, target.partitions, scratch
                ) as steps:
                    found = algorithm.run(Work(steps, space, rounds, is_weighted), settings)
                    rounds.done()
            else:
                steps = LocalSteps(view, space, chosen, form)
                found = algorithm.run(Work(steps, space, rounds, is_weighted), settings)
                rounds.done()
        return AnalysisResult(
            algorithm.name,
            walk_rows(space, found) if isinstance(found, Walks) else value_rows(space, found),
            None if target.at is not None else target.branch or MAIN,
            snapshot.commit_id,
            drawable=Drawable(snapshot, {"id": ""}, [edge.name for edge in chosen.edges], "type"),
            facts=found.facts,
            source=Source(space, {} if isinstance(found, Walks) else found.columns, self._load_with),
        )


def is_on_spark(target: AnalysisTarget, snapshot: Snapshot, chosen: ChosenEdges) -> bool:
    """True if the analysis runs on Spark: by the caller's choice, or by the number of edges."""
    if check_engine(target.engine) != AUTO:
        return target.engine == BY_SPARK
    return is_for_spark(sum(snapshot.state.tables[edge.table_key].rows for edge in chosen.edges))
