"""Ancestry in the commit graph: merge bases, and commits that only one of two heads has.

Invariant: a commit is younger than each of its parents (``history.plan`` ensures it). So a walk in order of age visits
a commit only after all its descendants, and stops as soon as the answer is known: a near merge base is found without
reading old history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Flag, auto

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit

Lookup = Callable[[str], GraphCommit]
"""Resolves a commit id. The lookup must know every ancestor of the commits it returns."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of two heads.

    ``bases`` are their best common ancestors: none is an ancestor of another, and the first is the merge base.
    ``only_source`` are the commits that only the source has, parents before children; ``only_target`` likewise.
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
    """An ancestor of a common ancestor, so not a best one."""


def relate(source: str, target: str, lookup: Lookup) -> Relation:
    """Compare two heads. After criss-cross merges there are several best common ancestors, youngest first."""
    sides = {source: _Side.SOURCE}
    sides[target] = sides.get(target, _Side.NONE) | _Side.TARGET
    queue = [_entry(lookup(id_)) for id_ in sides]
    heapq.heapify(queue)
    # Queued commits that are not known to be OLD. When none is left, no further base can appear, though OLD commits
    # may still be queued: the walk ends there instead of at the first commit of the graph.
    waiting = set(sides)
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
    """Sort key: youngest first, ties by id."""
    return -commit.created_at_us, commit.id


def first_parents(commits: Iterable[GraphCommit], head: str) -> Iterator[GraphCommit]:
    """The first-parent line of a branch from its head back, out of its log, which is newest first."""
    wanted: str | None = head
    for commit in commits:
        if commit.id == wanted:
            yield commit
            wanted = commit.parents[0] if commit.parents else None


def shown_commit(commit: GraphCommit) -> GraphCommit:
    """A commit without the facts that tell of hidden entities: the tables that it changed, and its texts."""
    return replace(commit, tables=(), files=(), message=None, provenance={}, idempotency_key=None)
