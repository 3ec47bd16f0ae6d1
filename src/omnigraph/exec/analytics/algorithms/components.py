"""Connected components, weak and strong."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.groups import group_values, moved_count
from omnigraph.exec.analytics.kernels import smallest, smallest_alike
from omnigraph.exec.analytics.local import InMemorySteps
from omnigraph.exec.analytics.rounds import NOTHING_KEPT, Rounds
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.totals import Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, changed, filled, made, numbered
from omnigraph.exec.analytics.work import NodeValues, Work


def components(work: Work, *, strong: bool) -> NodeValues:
    """Weakly connected components, or strongly connected ones."""
    steps, rounds = work.steps, work.rounds
    if isinstance(steps, InMemorySteps):
        square = steps.block.without_parallels.matrix
        labels = sparse.components(square, strong=strong) if steps.nodes else np.zeros(0, np.int64)
    else:
        labels = mutual(steps, rounds) if strong else hooked(steps, rounds)
    return group_values(steps, labels, "component", "components")


def hooked(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Vector:
    """Weak components by steps: hooking to the smallest neighbouring label, then pointer jumping.

    Components at least double in most rounds, so the number of rounds is about logarithmic.

    Example: the path 3 - 1 - 0 - 2 - 4 (labels by node)::

        start      0 1 2 3 4
        seen       0 0 0 1 2    smallest label of the node and its neighbours
        shortened  0 0 0 0 0    label of the label, until nothing changes
    """
    labels = rounds.begin(steps, labels=steps.apply(numbered).vector)["labels"]
    while True:
        seen = steps.step(_NEAR, labels)
        if not seen.total("moved"):
            return labels
        # Hook roots, not only the nodes themselves.
        hooks = steps.scatter(np.minimum, labels, labels, seen.vector)
        labels = _shortened(steps, steps.apply(_smaller, hooks, seen.vector).vector)
        rounds.end_round(labels=labels)


def _own(_span: Span, labels: Array) -> Array:
    return labels


def _seen(_span: Span, seen: Array, labels: Array) -> Made:
    return made(seen, moved=changed(labels, seen))


def _smaller(_span: Span, first: Array, second: Array) -> Made:
    return made(np.minimum(first, second))


_NEAR = Round(smallest, _own, _seen)


def mutual(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Vector:
    """Strong components by steps: forward and backward colouring with partition refinement.

    Invariant: a partition class (``kinds``) is a union of strong components. In a round every node learns the smallest
    node of its class that reaches it (``before``) and the smallest that it reaches (``behind``). If both are equal,
    that node names its component. Otherwise the class is split by the pair. Each round finishes at least the component
    of the smallest node of every class, so the loop ends.

    Example: edges 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 3, 3 -> 2, 3 -> 4::

        node     0 1 2 3 4
        before   0 0 0 0 0
        behind   0 0 2 2 4    nodes 0 and 1 are done; {2, 3} and {4} become classes
        before   0 0 2 2 4    second round: equal everywhere
    """
    numbers = steps.apply(numbered).vector
    kinds = steps.apply(filled, value=0, kind=np.int64).vector
    state = rounds.begin(steps, before=numbers, behind=numbers, kinds=kinds)
    before, behind, kinds = state["before"], state["behind"], state["kinds"]
    turned = steps.turned()
    while True:
        before = _first(steps, before, kinds, rounds, "before")
        behind = _first(turned, behind, kinds, rounds, "behind")
        compared = steps.apply(_compared, before, behind)
        if not compared.total("different"):
            return before
        before, behind, kinds = compared.vectors
        rounds.end_round(before=before, behind=behind, kinds=kinds)


def _compared(span: Span, before: Array, behind: Array) -> Made:
    """Nodes that are done keep their labels; the others begin again in the class of their pair of labels."""
    is_done = before == behind
    # One integer per pair; both are below the number of nodes, so pairs do not collide.
    kinds = before * span.nodes + behind
    following = (np.where(is_done, labels, span.numbers) for labels in (before, behind))
    return made(*following, kinds, different=Summed(int((~is_done).sum())))


def _first(steps: Steps, labels: Vector, kinds: Vector, rounds: Rounds, name: str) -> Vector:
    """Propagate the smallest label to a fixed point; reachability is transitive, so labels of labels may be taken."""
    while True:
        seen = steps.step(_NEAR_ALIKE, labels, kinds)
        if not seen.total("moved"):
            return labels
        labels = _shortened(steps, seen.vector)
        rounds.end_round(**{name: labels})


def _own_and_kind(_span: Span, labels: Array, kinds: Array) -> Array:
    return np.stack((labels, kinds))


def _seen_alike(_span: Span, seen: Array, labels: Array, _kinds: Array) -> Made:
    return made(seen, moved=changed(labels, seen))


_NEAR_ALIKE = Round(smallest_alike, _own_and_kind, _seen_alike)


def _shortened(steps: Steps, labels: Vector) -> Vector:
    """Pointer jumping: replace labels by the labels of labels until nothing changes."""
    while True:
        shorter = steps.look_up(labels, labels)
        if not steps.apply(moved_count, labels, shorter).total("moved"):
            return labels
        labels = shorter
