"""Traversals as closures: rows extended by neighbours, edges, reached nodes or a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from omnigraph.exec.adjacency import Rows, contains
from omnigraph.exec.budget import Budget
from omnigraph.exec.cells.values import GivenUp
from omnigraph.exec.compiled.recipe import Bound, Maker, Row
from omnigraph.exec.compiled.stepping import Ends, step_edges, step_ends, translation
from omnigraph.exec.topology.walkable import Steps
from omnigraph.exec.walk.levels import count_reached_from, reached_from
from omnigraph.exec.walk.paths import Ways, looped_path, path_between, path_length
from omnigraph.query.ir import ONE_HOP, Expand, HopRange

ROWS_MAX = 1024
"""Rows of an intermediate result. Beyond some hundreds, columns of Arrow are faster than rows of Python."""

T_co = TypeVar("T_co", covariant=True)


class Search(Protocol[T_co]):
    """A search from one node."""

    def __call__(
        self, lists: Steps, loops: Rows, start: int, hops: HopRange, *, from_target: bool, budget: Budget
    ) -> T_co: ...


Step = Callable[[list[Row]], list[Row]]

Reach = Callable[[Row], Rows]
"""The numbers of the nodes that a row reaches."""


def hop(way: int, near: int, *, keep_edges: bool) -> Maker[Step]:
    """Every row with every neighbour, and with the edge if edges are bound."""

    def make(bound: Bound) -> Step:
        lists = bound.walks[way].lists
        if keep_edges:
            edges = step_edges(lists, ROWS_MAX)
            return _extended(near, lambda row: edges(row[near]))
        return _extended_by_ends(near, step_ends(lists, ROWS_MAX))

    return make


def reaching(operator: Expand, way: int, near: int) -> Maker[Step]:
    """Every row with every node that it reaches."""

    def make(bound: Bound) -> Step:
        # Reached nodes are rows: a search that found too many is not worth its end.
        search = partial(reached_from, nodes_max=ROWS_MAX)
        reach = _from_row(bound, way, near, operator.hops, search, from_target=operator.from_target)
        far = bound.walks[way].lists.far

        def added(row: Row) -> list[tuple[object, ...]]:
            numbers = reach(row)
            if len(numbers) > ROWS_MAX:
                raise GivenUp
            return [(end,) for end in far.to_row(numbers).tolist()]

        return _extended(near, added)

    return make


def count_reached(operator: Expand, way: int, near: int) -> Maker[Callable[[list[Row]], int]]:
    """The number of rows of ``reaching``, without making them."""

    def make(bound: Bound) -> Callable[[list[Row]], int]:
        count = _from_row(bound, way, near, operator.hops, count_reached_from, from_target=operator.from_target)
        return lambda rows: sum([count(row) for row in rows if row[near] >= 0])

    return make


def _extended(near: int, added: Callable[[Row], Sequence[tuple[object, ...]]]) -> Step:
    def step(rows: list[Row]) -> list[Row]:
        found: list[Row] = []
        for row in rows:
            if row[near] >= 0:
                found += [(*row, *items) for items in added(row)]
                if len(found) > ROWS_MAX:
                    raise GivenUp
        return found

    return step


def _extended_by_ends(near: int, ends: Ends) -> Step:
    """The same for one item per row, which most steps of most queries are."""

    def step(rows: list[Row]) -> list[Row]:
        found: list[Row] = []
        for row in rows:
            start = row[near]
            if start >= 0:
                found += [(*row, end) for end in ends(start)]
                if len(found) > ROWS_MAX:
                    raise GivenUp
        return found

    return step


def _reach(bound: Bound, way: int, near: int, hops: HopRange, *, from_target: bool) -> Reach:
    return _from_row(bound, way, near, hops, reached_from, from_target=from_target)


def _from_row(
    bound: Bound, way: int, near: int, hops: HopRange, search: Search[T_co], *, from_target: bool
) -> Callable[[Row], T_co]:
    """A search from the node of a row."""
    walk = bound.walks[way]
    lists, loops, to_number = walk.lists, walk.topology.loops, translation(walk.lists.near.to_number)

    def run(row: Row) -> T_co:
        start = row[near] if to_number is None else to_number(row[near])
        return search(lists, loops, start, hops, from_target=from_target, budget=row[0].budget)

    return run


def closing(way: int, ends: tuple[int, int], hops: HopRange, *, keep_edges: bool) -> Maker[Step]:
    """The rows whose two bound ends are connected: kept once, or once per edge if edges are bound."""
    source, target = ends

    def make(bound: Bound) -> Step:
        lists = bound.walks[way].lists
        if hops != ONE_HOP:
            reach = _reach(bound, way, source, hops, from_target=False)
            return _extended(source, lambda row: [()] if row[target] in lists.far.to_row(reach(row)) else [])
        if keep_edges:
            edges = step_edges(lists, ROWS_MAX)
            return _extended(source, lambda row: [(edge,) for end, edge in edges(row[source]) if end == row[target]])
        nodes = step_ends(lists, ROWS_MAX)
        return _extended(source, lambda row: [()] if row[target] in nodes(row[source]) else [])

    return make


def _is_looped(loops: Rows, node: int) -> bool:
    return bool(contains(loops, np.array([node]))[0])


def path(hops: HopRange, ways: tuple[int, int], ends: tuple[int, int], ids: int) -> Maker[Step]:
    """The rows whose two ends are connected, each with the length and the ids of one shortest path."""
    source, target = ends

    def make(bound: Bound) -> Step:
        walk, back, cell = bound.walks[ways[0]], bound.walks[ways[1]], bound.cells[ids]
        both, loops = Ways(walk.lists, back.lists), walk.topology.loops
        to_number, to_row = translation(walk.lists.near.to_number), walk.lists.near.to_row

        def added(row: Row) -> list[tuple[object, ...]]:
            if row[target] < 0:
                return []
            start, stop = (row[end] if to_number is None else to_number(row[end]) for end in ends)
            nodes = path_between(both, start, stop, hops.high, row[0].budget)
            length = None if nodes is None else path_length(len(nodes) - 1, _is_looped(loops, stop), hops)
            if nodes is None or length is None:
                return []
            rows = to_row(np.array(looped_path(nodes, length), np.int64)).tolist()
            return [((length, [cell(one) for one in rows]),)]

        return _extended(source, added)

    return make
