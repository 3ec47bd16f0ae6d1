"""Communities by label propagation."""

from __future__ import annotations

from omnigraph.exec.analytics.groups import group_values
from omnigraph.exec.analytics.kernels import commonest
from omnigraph.exec.analytics.steps import Round
from omnigraph.exec.analytics.vectors import Array, Made, Span, changed, made
from omnigraph.exec.analytics.work import Fact, NodeValues, Work


def label_propagation(work: Work, *, max_iterations: int, seed: str | None) -> NodeValues:
    """Communities by synchronous label propagation: every node takes the most common label of its neighbours.

    Initial labels are the values of ``seed``, or follow the order of types and ids; ties go to the smallest label. Both
    make the result independent of the storage layout. Labels of a seed are the result; others are numbered from 0.
    """
    steps, rounds = work.steps, work.rounds
    labels = steps.ranks() if seed is None else steps.integers(seed)
    state = rounds.begin(steps, labels=labels, iterations=0, has_settled=not steps.nodes)
    labels, iterations, has_settled = state["labels"], int(state["iterations"]), bool(state["has_settled"])
    while not has_settled and iterations < max_iterations:
        following = steps.step(_VOTE, labels)
        labels, has_settled = following.vector, following.total("moved") == 0
        iterations += 1
        rounds.end_round(labels=labels, iterations=iterations, has_settled=has_settled)
    facts: dict[str, Fact] = {"iterations": iterations, "converged": has_settled}
    if seed is not None:
        return NodeValues({"community": steps.column(labels)}, facts)
    found = group_values(steps, labels, "community", "communities")
    return NodeValues(found.columns, {**found.facts, **facts})


def _own(_span: Span, labels: Array) -> Array:
    return labels


def _voted(_span: Span, winners: Array, labels: Array) -> Made:
    return made(winners, moved=changed(labels, winners))


_VOTE = Round(commonest, _own, _voted)
