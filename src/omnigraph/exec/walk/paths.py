"""Shortest paths between two bound nodes of one type. A path between two types is one edge, found by ``expand``.

Of several shortest paths the one is chosen whose nodes, from the last to the first, have the smallest numbers. A search
from both ends finds the same one: it knows every node that is on a shortest path, and so every candidate.
``all_shortest_paths`` walks back over all candidates instead. Paths that differ in their edges alone are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology.renumber import NOTHING
from omnigraph.exec.topology.walkable import Steps
from omnigraph.exec.walk.levels import levels_from
from omnigraph.query.ir import HopRange

PAIRS_MAX = 8
"""Targets of one source that are searched for one by one, from both ends; one search serves more of them."""


DISTANCE = np.int32
"""The type of distances by node: there may be many millions of nodes."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Neighbours towards the target, and back."""

    forth: Steps
    back: Steps


@dataclass(frozen=True, slots=True)
class Paths:
    """Connected rows, path lengths, and the node numbers along each path if requested."""

    position: Rows
    length: Rows
    nodes: list[list[int]] | None


def shortest_paths(
    ways: Ways, loops: Rows, sources: Rows, targets: Rows, hops: HopRange, *, wants_nodes: bool, budget: Budget
) -> Paths:
    """One path per row whose ends are connected within the bounds; ties go to the smallest node numbers."""
    if not wants_nodes:
        return _lengths(ways, loops, (sources, targets), hops, budget)

    def search(source: int, targets: list[int]) -> dict[int, list[list[int]]]:
        found = _from_one(ways, source, targets, hops.high, budget)
        return {target: [path] for target, path in found.items()}

    return _paths(ways, loops, (sources, targets), hops, search, wants_nodes=True)


def all_shortest_paths(
    ways: Ways, loops: Rows, sources: Rows, targets: Rows, hops: HopRange, *, wants_nodes: bool, budget: Budget
) -> Paths:
    """Every path per row whose ends are connected within the bounds, in the order of the numbers of their nodes."""

    def search(source: int, targets: list[int]) -> dict[int, list[list[int]]]:
        levels = dict(_levels_to(ways, source, targets, hops.high, budget))
        return {target: _every_path(ways, found, budget) for target, found in levels.items()}

    return _paths(ways, loops, (sources, targets), hops, search, wants_nodes=wants_nodes)


Search = Callable[[int, list[int]], dict[int, list[list[int]]]]
"""Finds the paths from one source to those of some targets that it reaches."""


def _paths(
    ways: Ways, loops: Rows, ends: tuple[Rows, Rows], hops: HopRange, search: Search, *, wants_nodes: bool
) -> Paths:
    """The paths of every row, by one search for all rows of a source."""
    kept: list[int] = []
    lengths: list[int] = []
    nodes: list[list[int]] = []
    targets = ways.forth.far.to_number(ends[1])
    looped = contains(loops, targets)
    for source, rows in _by_source(ways, ends):
        found = search(source, targets[rows].tolist())
        for row in rows:
            for path in found.get(int(targets[row]), ()):
                length = path_length(len(path) - 1, bool(looped[row]), hops)
                if length is not None:
                    kept.append(int(row))
                    lengths.append(length)
                    if wants_nodes:
                        nodes.append(looped_path(path, length))
    place = np.argsort(np.array(kept, np.int64), kind="stable")
    return Paths(
        np.array(kept, np.int64)[place],
        np.array(lengths, np.int64)[place],
        [nodes[index] for index in place] if wants_nodes else None,
    )


def _by_source(ways: Ways, ends: tuple[Rows, Rows]) -> Iterator[tuple[int, Rows]]:
    """The number of every source, with the positions of its rows whose ends are both bound."""
    sources, targets = ends
    bound = np.flatnonzero((sources >= 0) & (targets >= 0))
    numbers = ways.forth.near.to_number(sources)
    order = bound[np.argsort(numbers[bound], kind="stable")]
    ordered, start = numbers[order], 0
    while start < len(order):
        end = int(np.searchsorted(ordered, ordered[start], side="right"))
        yield int(ordered[start]), order[start:end]
        start = end


def _lengths(ways: Ways, loops: Rows, ends: tuple[Rows, Rows], hops: HopRange, budget: Budget) -> Paths:
    """The lengths of the paths of every row. Nodes between the ends are not found out."""
    numbers = ways.forth.far.to_number(ends[1])
    kept, lengths = [NOTHING], [NOTHING]
    for source, rows in _by_source(ways, ends):
        targets = numbers[rows]
        distances = _distances(ways, source, targets, hops.high, budget)
        is_within = (distances >= max(hops.low, 0)) & (distances <= hops.high)
        # The rule of ``path_length``.
        is_short = (distances >= 0) & (distances == hops.low - 1) & (hops.low <= hops.high)
        if is_short.any():
            is_short &= contains(loops, targets)
        found = is_within | is_short
        kept.append(rows[found])
        lengths.append(np.where(is_short, hops.low, distances)[found])
    positions = np.concatenate(kept)
    place = np.argsort(positions, kind="stable")
    return Paths(positions[place], np.concatenate(lengths)[place], None)


def _distances(ways: Ways, source: int, targets: Rows, hops_max: int, budget: Budget) -> Rows:
    """The distance of every target from a source; -1 for those that are farther than the bound."""
    different = sorted_set(targets) if len(targets) <= PAIRS_MAX else targets
    if len(different) <= PAIRS_MAX:
        between = [_levels_between(ways, source, target, hops_max, budget) for target in different.tolist()]
        each = np.array([-1 if levels is None else len(levels) - 1 for levels in between], np.int64)
        return each[np.searchsorted(different, targets)]
    with levels_from(ways.forth, source) as search:
        found = np.where(targets == source, 0, -1)
        at = np.full(ways.forth.numbers, -1, DISTANCE)
        at[source] = 0
        while len(search.levels) <= hops_max and (found < 0).any():
            budget.check(int(ways.forth.degrees(search.last).sum()), 2)
            if not len(search.grow()):
                break
            at[search.last] = len(search.levels) - 1
            found = at[targets].astype(np.int64)
    return found


def path_length(distance: int, has_loop: bool, hops: HopRange) -> int | None:
    """The same rule as for reachability: a self-loop adds a hop to a node that is one short of the lower bound."""
    if hops.low <= distance <= hops.high:
        return distance
    return hops.low if has_loop and distance == hops.low - 1 and hops.low <= hops.high else None


def looped_path(path: list[int], length: int) -> list[int]:
    """A path of the given length, with the self-loop at its end if it is one short."""
    return path + path[-1:] * (length + 1 - len(path))


def _from_one(ways: Ways, source: int, targets: list[int], hops_max: int, budget: Budget) -> dict[int, list[int]]:
    """The paths from one source to those of its targets that it reaches."""
    different = list(dict.fromkeys(targets))
    if len(different) > PAIRS_MAX:
        return _search(ways.forth, source, different, hops_max, budget)
    paths = {target: path_between(ways, source, target, hops_max, budget) for target in different}
    return {target: path for target, path in paths.items() if path is not None}


def path_between(ways: Ways, source: int, target: int, hops_max: int, budget: Budget) -> list[int] | None:
    """The numbers of the nodes on a shortest path, both ends included; None if they are too far apart."""
    candidates = _levels_between(ways, source, target, hops_max, budget)
    return None if candidates is None else _walk_back(ways, candidates)


def _levels_to(
    ways: Ways, source: int, targets: list[int], hops_max: int, budget: Budget
) -> Iterator[tuple[int, list[Rows]]]:
    """The targets that are reached, each with the nodes at every distance that may be on a shortest path to it."""
    different = list(dict.fromkeys(targets))
    if len(different) <= PAIRS_MAX:
        for target in different:
            candidates = _levels_between(ways, source, target, hops_max, budget)
            if candidates is not None:
                yield target, candidates
        return
    waiting = sorted_set(np.array(different, np.int64))
    with levels_from(ways.forth, source) as search:
        while True:
            reached = contains(search.last, waiting)
            for target in waiting[reached].tolist():
                yield target, [*search.levels[:-1], np.array([target], np.int64)]
            waiting = waiting[~reached]
            if not len(waiting) or len(search.levels) > hops_max:
                return
            budget.check(int(ways.forth.degrees(search.last).sum()), 2)
            if not len(search.grow()):
                return


def _levels_between(ways: Ways, source: int, target: int, hops_max: int, budget: Budget) -> list[Rows] | None:
    """For every distance from the source the nodes that may be on a shortest path; None beyond the bound.

    The smaller side of the search grows. No earlier level has met the other side, so a new level can only meet its
    last one.
    """
    with levels_from(ways.forth, source) as left, levels_from(ways.back, target) as right:
        middle = left.last[left.last == target]
        while not len(middle):
            if len(left.levels) + len(right.levels) - 2 >= hops_max:
                return None
            left_steps = int(ways.forth.degrees(left.last).sum())
            right_steps = int(ways.back.degrees(right.last).sum())
            budget.follow(min(left_steps, right_steps))
            budget.check(min(left_steps, right_steps), 2)
            grown = (left if left_steps <= right_steps else right).grow()
            if not len(grown):
                return None
            middle = left.last[contains(right.last, left.last)]
        return _on_paths(ways.forth, left.levels, right.levels, middle)


def _on_paths(forth: Steps, left: list[Rows], right: list[Rows], middle: Rows) -> list[Rows]:
    """For every distance from the source the nodes that a node on a shortest path may follow.

    Up to the middle these are the levels of the source. Beyond it only those nodes of the target's levels count that
    the middle leads to: the others are farther from the source.
    """
    onwards = [middle]
    for level in right[-2::-1]:
        ends = sorted_set(forth.far_ends(onwards[-1]).astype(np.int64))
        onwards.append(ends[contains(level, ends)])
    return [*left[:-1], *onwards]


def _walk_back(ways: Ways, candidates: list[Rows]) -> list[int]:
    nodes = [int(candidates[-1][0])]
    for level in candidates[-2::-1]:
        before = ways.back.far_ends(np.array(nodes[-1:], np.int64))
        nodes.append(int(before[contains(level, before)].min()))
    nodes.reverse()
    return nodes


def _every_path(ways: Ways, candidates: list[Rows], budget: Budget) -> list[list[int]]:
    """All paths through the candidates, made from their ends: one more node of all of them at a time."""
    paths = candidates[-1].reshape(-1, 1)
    for level in candidates[-2::-1]:
        # A pair of neighbours is one step, however many edges connect it.
        position, before, _ = ways.back.step(np.ascontiguousarray(paths[:, 0]))
        is_on = contains(level, before)
        budget.check(int(is_on.sum()), paths.shape[1] + 1)
        paths = np.column_stack((before[is_on], paths[position[is_on]]))
    return sorted(paths.tolist())


def _search(lists: Steps, source: int, targets: list[int], hops_max: int, budget: Budget) -> dict[int, list[int]]:
    """The same for many targets, by one search that remembers the smallest parent of every node."""
    distance = np.full(lists.numbers, -1, np.int64)
    parent = np.full(lists.numbers, -1, np.int64)
    distance[source] = 0
    frontier = np.array([source], np.int64)
    for hop in range(1, hops_max + 1):
        if not len(frontier) or (distance[targets] >= 0).all():
            break
        budget.check(len(frontier), 2)
        position, found, _ = lists.step(frontier)
        via = frontier[position]
        fresh = distance[found] < 0
        found, via = found[fresh], via[fresh]
        # The smallest parent comes first for every node, which makes the chosen path deterministic.
        order = np.lexsort((via, found))
        found, via = found[order], via[order]
        first = np.ones(len(found), bool)
        first[1:] = found[1:] != found[:-1]
        frontier = found[first]
        distance[frontier] = hop
        parent[frontier] = via[first]
    return {target: _parents(parent, target, int(distance[target])) for target in targets if distance[target] >= 0}


def _parents(parent: Rows, target: int, distance: int) -> list[int]:
    nodes = [target]
    for _ in range(distance):
        nodes.append(int(parent[nodes[-1]]))
    nodes.reverse()
    return nodes
