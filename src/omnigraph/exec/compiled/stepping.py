"""Neighbours of one node at a time: the scalar counterpart of ``exec.topology.neighbours``.

A list is a slice of the base, minus deleted edges and nodes, plus the edges added since. The changes are looked through
as they are: for the few thousand that a base may have, that is faster than a structure that every commit has to make.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from omnigraph.exec.cells.values import GivenUp
from omnigraph.exec.topology.neighbours import Lists
from omnigraph.exec.topology.renumber import Renumbering

CHANGES_MAX = 4096
"""Changes since the base up to which a step looks through all of them."""

Translate = Callable[[int], int]
Ends = Callable[[int], list[int]]
"""The rows of the neighbours of a row, each once."""
Edges = Callable[[int], list[tuple[int, int]]]
"""The rows of the neighbours of a row, each with the row of the edge."""


def can_step(lists: Lists) -> bool:
    """True if the changes since the base are few enough for steps of one node."""
    return len(lists.starts) + len(lists.edges.lost) + len(lists.far.gone) <= CHANGES_MAX


def step_ends(lists: Lists, rows_max: int) -> Ends:
    """Steps without edges."""
    if len(lists.edges.lost):
        along = step_edges(lists, rows_max)
        return lambda row: list(dict.fromkeys(end for end, _ in along(row)))
    offsets, neighbours = lists.base.offsets.data, lists.base.neighbours
    nodes, to_number, to_row = lists.base.nodes, translation(lists.near.to_number), translation(lists.far.to_row)
    starts, ends, gone = lists.starts, lists.ends, set(lists.far.gone.tolist())
    is_plain = to_row is None and not gone

    def step(row: int) -> list[int]:
        number = row if to_number is None else to_number(row)
        found: list[int] = []
        if number < nodes:
            first, last = offsets[number], offsets[number + 1]
            if last - first > rows_max:
                raise GivenUp
            found = neighbours[first:last].tolist()
        if len(starts):
            found += ends[starts == number].tolist()
        # Parallel edges are one pair.
        found = list(dict.fromkeys(found))
        if is_plain:
            return found
        return [end if to_row is None else to_row(end) for end in found if end not in gone]

    return step


def step_edges(lists: Lists, rows_max: int) -> Edges:
    """Steps with the edges they follow."""
    offsets, neighbours, edges = lists.base.offsets.data, lists.base.neighbours, lists.base.edges
    nodes, to_number = lists.base.nodes, translation(lists.near.to_number)
    to_row, to_edge = translation(lists.far.to_row), translation(lists.edges.to_row)
    starts, ends, added = lists.starts, lists.ends, lists.added
    gone, lost = set(lists.far.gone.tolist()), set(lists.edges.lost.tolist())

    def step(row: int) -> list[tuple[int, int]]:
        number = row if to_number is None else to_number(row)
        found: list[tuple[int, int]] = []
        if number < nodes:
            first, last = offsets[number], offsets[number + 1]
            if last - first > rows_max:
                raise GivenUp
            pairs = zip(neighbours[first:last].tolist(), edges[first:last].tolist(), strict=True)
            kept = (pair for pair in pairs if pair[1] not in lost) if lost else pairs
            found = [(end, edge if to_edge is None else to_edge(edge)) for end, edge in kept]
        if len(starts):
            is_here = starts == number
            found += zip(ends[is_here].tolist(), added[is_here].tolist(), strict=True)
        if to_row is None and not gone:
            return found
        return [(end if to_row is None else to_row(end), edge) for end, edge in found if end not in gone]

    return step


def translation(numbers: Renumbering) -> Translate | None:
    """A renumbering of single numbers; None for the identity."""
    if not len(numbers.starts) and not len(numbers.keys):
        return None
    starts, shifts = numbers.starts.tolist(), numbers.shifts.tolist()
    keys, values = numbers.keys.data, numbers.values.data
    length = len(keys)

    def translate(number: int) -> int:
        place = bisect_left(keys, number)
        if place < length and keys[place] == number:
            return int(values[place])
        return number + shifts[bisect_right(starts, number) - 1] if starts else number

    return translate
