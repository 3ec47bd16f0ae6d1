"""Cycles of dependencies, by the weakest set of dependencies that closes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import pairwise

from tests.promises.history_checker.dependencies import Dependencies
from tests.promises.history_checker.transactions import Anomaly

_TIMELESS = ("ww", "wr", "rw")


def find_cycles(found: Dependencies) -> Iterator[Anomaly]:
    """At most one anomaly for each group of transactions that depend on each other in circles."""
    for group in _components(found, (*_TIMELESS, "rt")):
        yield _classify(found, group)


def _classify(found: Dependencies, group: Collection[int]) -> Anomaly:
    members = set(group)
    for suffix, time in (("", ()), ("-realtime", ("rt",))):
        for kind, first, rest in (
            ("G0", "ww", ("ww",)),
            ("G1c", "wr", ("ww", "wr")),
            ("G-single", "rw", ("ww", "wr")),
            ("G2", "rw", _TIMELESS),
        ):
            cycle = _cycle(found, members, first, (*rest, *time))
            if cycle is not None:
                return Anomaly(kind + suffix, _explain(found, cycle))
    raise AssertionError("a circle of moments alone is impossible")


def _cycle(found: Dependencies, members: set[int], first: str, rest: Collection[str]) -> list[int] | None:
    """The shortest way around that starts with a dependency of one kind and goes on with the others."""
    best: list[int] | None = None
    for start in sorted(members):
        for following, kinds in found.edges.get(start, {}).items():
            if first not in kinds or following not in members:
                continue
            way = _path(found, members, following, start, rest)
            if way is not None and (best is None or len(way) < len(best)):
                best = [start, *way]
    return best


def _path(found: Dependencies, members: set[int], start: int, end: int, kinds: Collection[str]) -> list[int] | None:
    came_from: dict[int, int] = {start: start}
    pending = deque([start])
    while pending:
        current = pending.popleft()
        if current == end:
            way = [end]
            while way[-1] != start:
                way.append(came_from[way[-1]])
            return way[::-1]
        for following, there in found.edges.get(current, {}).items():
            if following in members and following not in came_from and not there.isdisjoint(kinds):
                came_from[following] = current
                pending.append(following)
    return None


def _explain(found: Dependencies, cycle: list[int]) -> str:
    parts: list[str] = []
    for number, following in pairwise(cycle):
        kinds = "/".join(sorted(found.edges[number][following]))
        name = found.history[number].name if number < len(found.history) else "time"
        parts.append(f"{name} -{kinds}->")
    return " ".join([*parts, found.history[cycle[-1]].name if cycle[-1] < len(found.history) else "time"])


def _components(found: Dependencies, kinds: Collection[str]) -> Iterator[list[int]]:
    """Strongly connected components with more than one member (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    for root in list(found.edges):
        if root in order:
            continue
        work = [(root, iter(_followers(found, root, kinds)))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            current, followers = work[-1]
            following = next(followers, None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[current])
                if low[current] == order[current]:
                    component = []
                    while not component or component[-1] != current:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        yield component
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(_followers(found, following, kinds))))
            elif following in on_stack:
                low[current] = min(low[current], order[following])


def _followers(found: Dependencies, number: int, kinds: Collection[str]) -> list[int]:
    return [other for other, there in found.edges.get(number, {}).items() if not there.isdisjoint(kinds)]
