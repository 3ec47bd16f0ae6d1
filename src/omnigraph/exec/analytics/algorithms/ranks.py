"""PageRank and degrees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from omnigraph.exec.analytics.kernels import counts, sums
from omnigraph.exec.analytics.nodes import NodeRef
from omnigraph.exec.analytics.steps import Round
from omnigraph.exec.analytics.totals import Summed, Tally
from omnigraph.exec.analytics.vectors import Array, Made, Span, filled, made, placed
from omnigraph.exec.analytics.work import Fact, NodeValues, Work


def pagerank(
    work: Work,
    *,
    damping: float,
    tolerance: float,
    max_iterations: int,
    personalization: Mapping[NodeRef, float] | None,
) -> NodeValues:
    """PageRank: stationary probability of a random walk that follows edges by weight and sometimes restarts.

    The walk restarts with probability 1 - damping, and always at a node without outgoing edges. Restart nodes follow
    ``personalization``, uniform by default. Iteration stops when the L1 change of the ranks is below the tolerance.
    """
    steps, rounds, nodes = work.steps, work.rounds, work.steps.nodes
    even = steps.apply(filled, value=1 / max(nodes, 1), kind=np.float64).vector
    restart = even
    if personalization is not None:
        numbers, weights = work.space.weights(personalization)
        restart = steps.apply(placed, numbers=numbers, values=weights / weights.sum(), rest=0.0).vector
    leaving = steps.leaving()
    stuck = steps.apply(_stuck, even, leaving).total("stuck")
    start = {"iterations": 0, "moved": np.inf if nodes else 0.0, "stuck": float(stuck)}
    state = rounds.begin(steps, ranks=even, **start)
    ranks, iterations, moved, stuck = state["ranks"], int(state["iterations"]), float(state["moved"]), state["stuck"]
    while nodes and iterations < max_iterations and not moved < tolerance:
        walked = steps.step(_WALK, ranks, leaving, restart, damping=damping, stuck=float(stuck))
        ranks, moved, stuck = walked.vector, float(walked.total("moved")), float(walked.total("stuck"))
        iterations += 1
        rounds.end_round(ranks=ranks, iterations=iterations, moved=moved, stuck=stuck)
    facts: dict[str, Fact] = {"iterations": iterations, "converged": not nodes or moved < tolerance, "moved": moved}
    return NodeValues({"rank": steps.column(ranks)}, facts)


def _stuck(_span: Span, ranks: Array, leaving: Array) -> Made:
    """The probability of being at a node without outgoing edges."""
    return made(stuck=Summed(ranks[leaving == 0].sum()))


def _shared(_span: Span, ranks: Array, leaving: Array, _restart: Array, **_numbers: float) -> Array:
    """The probability that travels along an outgoing edge of weight one."""
    return np.divide(ranks, leaving, out=np.zeros_like(ranks), where=leaving != 0)


def _walked(
    span: Span, arriving: Array, ranks: Array, leaving: Array, restart: Array, *, damping: float, stuck: float
) -> Made:
    following = damping * (arriving + stuck * restart) + (1 - damping) * restart
    left = _stuck(span, following, leaving).totals
    return made(following, moved=Summed(np.abs(following - ranks).sum()), **left)


_WALK = Round(sums, _shared, _walked)


def degrees(work: Work) -> NodeValues:
    """Degree, in-degree and out-degree of every node. A self-loop counts once in each direction."""
    steps = work.steps
    arriving = steps.step(Round(counts)).vector
    found = steps.apply(_degrees, arriving, steps.leaving())
    names = ("degree", "in_degree", "out_degree")
    facts: dict[str, Fact] = {"nodes": steps.nodes, "edges": int(found.total("edges"))}
    facts["isolated"] = int(found.total("isolated"))
    for name in names if steps.nodes else ():
        tally = found.totals[name]
        assert isinstance(tally, Tally)
        facts |= _spread(name, tally)
    return NodeValues(dict(zip(names, map(steps.column, found.vectors), strict=True)), facts)


def _degrees(_span: Span, arriving: Array, leaving: Array) -> Made:
    out = leaving.astype(np.int64)
    both = arriving + out
    tallies = {"degree": Tally.of(both), "in_degree": Tally.of(arriving), "out_degree": Tally.of(out)}
    edges, isolated = Summed(int(arriving.sum())), Summed(int((both == 0).sum()))
    return made(both, arriving, out, edges=edges, isolated=isolated, **tallies)


def _spread(name: str, tally: Tally) -> dict[str, Fact]:
    return {
        f"{name}_min": int(tally.values[0]),
        f"{name}_median": tally.percentile(50),
        f"{name}_mean": tally.mean(),
        f"{name}_p99": tally.percentile(99),
        f"{name}_max": int(tally.values[-1]),
    }
