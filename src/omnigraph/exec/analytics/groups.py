"""Numbering of groups of nodes: from 0, by the first node of each group, so that numbers do not depend on storage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omnigraph.exec.analytics.steps import Steps
from omnigraph.exec.analytics.totals import Largest, Listed, Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, filled, made
from omnigraph.exec.analytics.work import NodeValues


class Numbered(NamedTuple):
    """The number of every node's group, how many groups there are, and the size of the largest."""

    numbers: Vector
    groups: int
    largest: int


def numbered_groups(steps: Steps, labels: Vector) -> Numbered:
    """Group labels, which are below the number of nodes, renumbered by the rank of each group's first node.

    Example: labels 3 1 3 0, ranks 2 0 1 3::

        first of the group   3 0 - 1    at 0 to 3: the smallest rank with that label
        is a first           1 1 0 1    at the ranks 0 to 3
        number of a first    0 1 - 2    firsts before it
        numbers              1 0 1 2    the number at the first of the label of every node
    """
    nodes = steps.nodes
    none = steps.apply(filled, value=nodes, kind=np.int64).vector
    first = steps.scatter(np.minimum, none, labels, steps.ranks())
    zeros = steps.apply(filled, value=0, kind=np.int64).vector
    at, ones = steps.apply(_marks, first).vectors
    marked = steps.scatter(np.maximum, zeros, at, ones)
    counted = steps.apply(_counted, marked)
    starts = dict(_running(counted.total("counts")))
    places = steps.apply(_places, marked, starts=starts).vector
    numbers = steps.look_up(places, steps.look_up(first, labels))
    ones = steps.apply(filled, value=1, kind=np.int64).vector
    sizes = steps.scatter(np.add, zeros, numbers, ones)
    largest = steps.apply(_largest, sizes).total("largest")
    return Numbered(numbers, sum(count for _, count in counted.total("counts")), int(largest))


def group_values(steps: Steps, labels: Vector, column: str, plural: str) -> NodeValues:
    """Groups as a result."""
    found = numbered_groups(steps, labels)
    return NodeValues({column: steps.column(found.numbers)}, {plural: found.groups, "largest": found.largest})


def _marks(span: Span, first: Array) -> Made:
    """Ranks to mark: those of the first nodes of groups."""
    return made(np.where(first < span.nodes, first, -1), np.ones(span.size, np.int64))


def _counted(span: Span, marked: Array) -> Made:
    return made(counts=Listed([(span.first, int(marked.sum()))]))


def _running(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The number of marks before every span."""
    ends = np.cumsum([count for _, count in counts]).tolist()
    return [(first, end - count) for (first, count), end in zip(counts, ends, strict=True)]


def _places(span: Span, marked: Array, *, starts: dict[int, int]) -> Made:
    """The number of marks before every node."""
    return made(starts[span.first] + np.cumsum(marked) - marked)


def _largest(_span: Span, sizes: Array) -> Made:
    return made(largest=Largest(int(sizes.max(initial=0))))


def moved_count(_span: Span, before: Array, after: Array) -> Made:
    """The number of nodes that changed their label."""
    return made(moved=Summed(int((before != after).sum())))
