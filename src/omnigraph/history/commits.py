"""Who descends from whom: walks over the commit graph.

A commit is younger than every one of its parents (``history.plan`` sees to it), so going from young to old meets a
commit only after all its descendants. Walks stop as soon as the answer is known: a merge base that is near is found
without reading the old history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Flag, auto

from omnigraph.core.commit import GraphCommit

Lookup = Callable[[str], GraphCommit]
"""A commit by its id; whoever brings it has every ancestor of the commits that it brings."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How two heads are related.

    ``bases`` are their best common ancestors: none of them is an ancestor of another one, and the first one is the
    merge base. ``only_source`` are the commits that the source has and the target has not, parents before children;
    ``only_target`` the other way round.
    """

    bases: tuple[str, ...]
    only_source: tuple[GraphCommit, ...]
    only_target: tuple[GraphCommit, ...]

    @property
    def base(self) -> str | None:
        return self.bases[0] if self.bases else None


class _Side(Flag):
    NONE = 0
    SOURCE = auto()
    TARGET = auto()
    OLD = auto()
    """An ancestor of a common ancestor, so no best one."""


def relate(source: str, target: str, lookup: Lookup) -> Relation:
    """Compare two heads. Where histories crossed there are several best common ancestors: the youngest is first."""
    sides = {source: _Side.SOURCE}
    sides[target] = sides.get(target, _Side.NONE) | _Side.TARGET
    queue = [_entry(lookup(id_)) for id_ in sides]
    heapq.heapify(queue)
    waiting = set(sides)  # what is in the queue and is not known to be old
    bases: list[GraphCommit] = []
    only: dict[_Side, list[GraphCommit]] = {_Side.SOURCE: [], _Side.TARGET: []}
    while waiting:
        commit = lookup(heapq.heappop(queue)[1])
        waiting.discard(commit.id)
        side = sides[commit.id]
        if side == _Side.SOURCE | _Side.TARGET:
            bases.append(commit)
            side |= _Side.OLD
        elif _Side.OLD not in side:
            only[side].append(commit)
        for parent in commit.parents:
            if parent not in sides:
                heapq.heappush(queue, _entry(lookup(parent)))
                waiting.add(parent)
            sides[parent] = sides.get(parent, _Side.NONE) | side
            if _Side.OLD in side:
                waiting.discard(parent)
    best = sorted(bases, key=_entry)
    return Relation(
        tuple(commit.id for commit in best), tuple(only[_Side.SOURCE][::-1]), tuple(only[_Side.TARGET][::-1])
    )


def _entry(commit: GraphCommit) -> tuple[int, str]:
    """Youngest first; two commits of the same moment by their ids."""
    return -commit.created_at_us, commit.id


def first_parents(commits: Iterable[GraphCommit], head: str) -> Iterator[GraphCommit]:
    """The commits that a branch itself went through, from its head back, out of all that its log holds newest first."""
    wanted: str | None = head
    for commit in commits:
        if commit.id == wanted:
            yield commit
            wanted = commit.parents[0] if commit.parents else None
