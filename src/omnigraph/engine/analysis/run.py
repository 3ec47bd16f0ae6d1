"""``graph.analyze``: algorithms over a whole graph, at one commit, in this process or on Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypedDict, Unpack

import pyarrow as pa

from omnigraph.engine import ports
from omnigraph.engine.analysis.checkpoints import rounds_of
from omnigraph.engine.analysis.result import AnalysisResult, LoadWith
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, check_engine
from omnigraph.engine.query.choice import is_for_spark
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.exec.analytics import algorithms
from omnigraph.exec.analytics.algorithms import Outcome
from omnigraph.exec.analytics.chosen import ChosenEdges, choose_edges
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.nodes import NodeRef, NodeSpace
from omnigraph.exec.analytics.rounds import Rounds
from omnigraph.exec.analytics.sparse import require_scipy
from omnigraph.exec.analytics.steps import Form, Steps
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.manifest.layout import MAIN


class TargetOptions(TypedDict, total=False):
    """What every algorithm may be told about the moment and about who works."""

    branch: str | None
    at: str | datetime | None
    engine: str
    spark: Any
    partitions: int | None


class RoundsOptions(TargetOptions, total=False):
    """The same for an algorithm that takes many rounds."""

    checkpoint: str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class AnalysisTarget:
    """What is analysed and who does it. ``partitions`` is into how many parts Spark divides the edges."""

    edges: Sequence[str] | str | None = None
    branch: str | None = None
    at: str | datetime | None = None
    engine: str = "auto"
    spark: Any = None
    partitions: int | None = None
    checkpoint: str | os.PathLike[str] | None = None


Run = Callable[[Steps, NodeSpace, Rounds], Outcome]


class OpenSnapshot(Protocol):
    """``Graph.snapshot``."""

    def __call__(self, branch: str | None = None, *, at: str | datetime | None = None) -> Snapshot: ...


class Analysis:
    """Algorithms by name. All of them take these, by name or ``edges`` by place:

    - ``edges``: the edge types, all if not given; every node of the types at their ends takes part.
    - ``branch``, ``at``: the moment, as in ``graph.query``.
    - ``engine``: ``embedded`` in this process, ``spark``, or ``auto``, which takes Spark for very many edges.
    - ``spark``, ``partitions``: a session instead of our own, and into how many parts it divides the edges.
    - ``checkpoint``, where there are rounds: a directory or ``s3://...`` in which they are kept now and then. What
      was interrupted goes on there when the same is asked of the same commit; when it ends, nothing is kept.
    """

    def __init__(self, open_snapshot: OpenSnapshot, derived: Derived, load_with: LoadWith) -> None:
        self._snapshot = open_snapshot
        self._derived = derived
        self._load_with = load_with

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
        """``rank``: how important a node is by who points to it; all ranks add up to one.

        ``personalization`` says where walkers begin: weights of nodes, which are ids, or types and ids. With
        ``weight`` they follow edges by that property.
        """
        _between("damping", damping, 0, 1)
        _at_least("tolerance", tolerance, 0)
        _at_least("max_iterations", max_iterations, 1)

        def run(steps: Steps, space: NodeSpace, rounds: Rounds) -> Outcome:
            preference = None if personalization is None else space.weights(personalization)
            return algorithms.pagerank(
                steps,
                rounds,
                damping=damping,
                tolerance=tolerance,
                iterations_max=max_iterations,
                preference=preference,
            )

        form = Form.DIRECTED if directed else Form.BOTH
        begins = sorted((personalization or {}).items(), key=repr)
        told = {"damping": damping, "tolerance": tolerance, "iterations": max_iterations, "begins": begins}
        return self._run("pagerank", AnalysisTarget(edges, **target), form, run, weight, told=told)

    def components(
        self, edges: Sequence[str] | str | None = None, *, strong: bool = False, **target: Unpack[RoundsOptions]
    ) -> AnalysisResult:
        """``component``: the same number for connected nodes; ``strong`` ones reach each other along the edges.

        Components are numbered from 0 in the order of their first node by type and id.
        """

        def run(steps: Steps, space: NodeSpace, rounds: Rounds) -> Outcome:
            return algorithms.components(steps, space, rounds, strong=strong)

        form = Form.DIRECTED if strong else Form.BOTH
        told = {"strong": strong}
        return self._run("components", AnalysisTarget(edges, **target), Form.DIRECTED, run, on_spark=form, told=told)

    def label_propagation(
        self, edges: Sequence[str] | str | None = None, *, max_iterations: int = 20, **target: Unpack[RoundsOptions]
    ) -> AnalysisResult:
        """``community``: nodes that share most of their connections; numbered like components.

        All nodes change their label at once to the one most of their neighbours have, of several the smallest, until
        nothing changes or ``max_iterations`` times. Directions and parallel edges do not count.
        """
        _at_least("max_iterations", max_iterations, 1)

        def run(steps: Steps, space: NodeSpace, rounds: Rounds) -> Outcome:
            return algorithms.label_propagation(steps, space, rounds, iterations_max=max_iterations)

        told = {"iterations": max_iterations}
        return self._run("label_propagation", AnalysisTarget(edges, **target), Form.SIMPLE, run, told=told)

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
        """``distance`` from the nearest of the sources: hops, or the sum of a ``weight``; null if there is no way.

        Nothing farther than ``max_distance`` is looked for.
        """
        if max_distance is not None:
            _at_least("max_distance", max_distance, 0)
        named = [sources] if isinstance(sources, str) else list(sources)

        def run(steps: Steps, space: NodeSpace, rounds: Rounds) -> Outcome:
            starts = space.resolve(named)
            return algorithms.shortest_paths(
                steps, starts, rounds, is_weighted=weight is not None, distance_max=max_distance
            )

        form = Form.DIRECTED if directed else Form.BOTH
        told = {"sources": sorted(named, key=repr), "distance": max_distance}
        return self._run("shortest_paths", AnalysisTarget(edges, **target), form, run, weight, told=told)

    def triangles(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``triangles``: how many a node is part of. Directions, parallel edges and loops do not count."""
        return self._run("triangles", AnalysisTarget(edges, **target), Form.SIMPLE, _triangles)

    def degrees(self, edges: Sequence[str] | str | None = None, **target: Unpack[TargetOptions]) -> AnalysisResult:
        """``degree``, ``in_degree`` and ``out_degree``: how many edges a node has; parallel edges count each."""
        return self._run("degrees", AnalysisTarget(edges, **target), Form.DIRECTED, _degrees)

    def _run(
        self,
        name: str,
        target: AnalysisTarget,
        form: Form,
        run: Run,
        weight: str | None = None,
        on_spark: Form | None = None,
        told: Mapping[str, object] | None = None,
    ) -> AnalysisResult:
        require_scipy()
        snapshot = self._snapshot(target.branch, at=target.at)
        chosen = choose_edges(snapshot.catalog, target.edges, weight)
        with snapshot.reading():
            view = GraphView(snapshot.store, snapshot.state, snapshot.catalog, self._derived)
            space = NodeSpace.of(view, chosen.node_types)
            edges = [edge.name for edge in chosen.edges]
            rounds = rounds_of(
                target.checkpoint,
                snapshot,
                name,
                {**(told or {}), "edges": edges, "weight": weight, "form": form.value},
            )
            if is_on_spark(target, snapshot, chosen):
                with ports.cluster().spark_steps(
                    snapshot, space, chosen, on_spark or form, target.spark, target.partitions
                ) as steps:
                    outcome = run(steps, space, rounds)
            else:
                outcome = run(LocalSteps(view, space, chosen, form), space, rounds)
        rounds.done()
        return AnalysisResult(
            name,
            _rows(space, outcome),
            None if target.at is not None else target.branch or MAIN,
            snapshot.commit_id,
            facts=outcome.facts,
            _load_with=self._load_with,
            _space=space,
            _values=outcome.columns,
        )


def is_on_spark(target: AnalysisTarget, snapshot: Snapshot, chosen: ChosenEdges) -> bool:
    """Whether Spark does it: because the caller says so, or because there are very many edges."""
    if check_engine(target.engine) != AUTO:
        return target.engine == BY_SPARK
    return is_for_spark(sum(snapshot.state.tables[edge.table_key].rows for edge in chosen.edges))


def _rows(space: NodeSpace, outcome: Outcome) -> ResultRows:
    fields = [("type", pa.utf8()), ("id", pa.utf8()), *((name, array.type) for name, array in outcome.columns.items())]

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        return [*space.columns(start, stop), *(array.slice(start, stop - start) for array in outcome.columns.values())]

    return ResultRows(pa.schema(fields), space.size, read)


def _triangles(steps: Steps, _space: NodeSpace, _rounds: Rounds) -> Outcome:
    return algorithms.triangles(steps)


def _degrees(steps: Steps, _space: NodeSpace, _rounds: Rounds) -> Outcome:
    return algorithms.degrees(steps)


def _at_least(name: str, value: float, low: float) -> None:
    if not value >= low:
        raise UsageError(f"{name} is {value}", hint=f"it is at least {low}")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}", hint=f"it is from {low} to {high}")
