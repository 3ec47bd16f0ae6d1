"""Shortest paths between two bound nodes of one type. A path between two types is one edge, found by ``expand``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.exec.adjacency import Rows, contains
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology.walkable import Steps
from omnigraph.query.ir import HopRange


@dataclass(frozen=True, slots=True)
class Paths:
    """Connected rows, path lengths, and the node numbers along each path if requested."""

    position: Rows
    length: Rows
    nodes: list[list[int]] | None


def shortest_paths(
    lists: Steps, loops: Rows, sources: Rows, targets: Rows, hops: HopRange, *, wants_nodes: bool, budget: Budget
) -> Paths:
    """One path per row whose ends are connected within the bounds; ties go to the smallest node numbers.

    Rows are grouped by source, so that one search serves all rows of a source.
    """
    kept: list[int] = []
    lengths: list[int] = []
    nodes: list[list[int]] = []
    bound = np.flatnonzero((sources >= 0) & (targets >= 0))
    sources, targets = lists.near.to_number(sources), lists.far.to_number(targets)
    looped = contains(loops, targets)
    order = bound[np.argsort(sources[bound], kind="stable")]
    start = 0
    while start < len(order):
        end = start + int(np.searchsorted(sources[order[start:]], sources[order[start]], side="right"))
        rows = order[start:end]
        distance, parent = _search(lists, int(sources[rows[0]]), targets[rows], hops.high, budget)
        for row in rows:
            length = _length(int(distance[targets[row]]), bool(looped[row]), hops)
            if length is not None:
                kept.append(int(row))
                lengths.append(length)
                if wants_nodes:
                    nodes.append(_walk_back(parent, int(targets[row]), int(distance[targets[row]]), length))
        start = end
    place = np.argsort(np.array(kept, np.int64), kind="stable")
    return Paths(
        np.array(kept, np.int64)[place],
        np.array(lengths, np.int64)[place],
        [nodes[index] for index in place] if wants_nodes else None,
    )


def _length(distance: int, has_loop: bool, hops: HopRange) -> int | None:
    """The same rule as for reachability: a self-loop adds a hop to a node that is one short of the lower bound."""
    if distance < 0:
        return None
    if hops.low <= distance <= hops.high:
        return distance
    return hops.low if has_loop and distance == hops.low - 1 and hops.low <= hops.high else None


def _search(lists: Steps, source: int, targets: Rows, hops_max: int, budget: Budget) -> tuple[Rows, Rows]:
    """Distances and parents from one source, until all targets are found."""
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
    return distance, parent


def _walk_back(parent: Rows, target: int, distance: int, length: int) -> list[int]:
    nodes = [target]
    for _ in range(distance):
        nodes.append(int(parent[nodes[-1]]))
    nodes.reverse()
    return nodes + [target] * (length - distance)
