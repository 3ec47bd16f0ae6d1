"""Neighbour lists of one edge type: a base plus the changes since.

A topology is a *base*, the lists of some earlier version of the three tables, and a delta: added edges, deleted edges,
moved nodes. Nodes are identified by their number in the base, whatever row they occupy now; a node added since has a
number above those. Traversal works on numbers only; rows are translated at both ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Adjacency, Integers, Mask, Rows, adjacency, contains, sorted_set
from omnigraph.exec.topology.base import Base
from omnigraph.exec.topology.renumber import NOTHING, Correspondence, nothing

SLICED_MAX = 64
"""Nodes whose lists are copied one by one, which takes a quarter of a microsecond each."""

FEW_ADDED_MAX = 512
"""Added edges that every commit may arrange again by node, which takes a tenth of a microsecond each."""

PROBED_SHARE = 8
"""Pairs are probed by binary search if stepping would touch more than one edge in this many."""


@dataclass(frozen=True)
class Lists:
    """Neighbours in one direction, as numbers; ``near`` and ``far`` translate the two ends."""

    base: Adjacency
    near: Correspondence
    far: Correspondence
    edges: Correspondence
    starts: Rows = field(default_factory=nothing, repr=False)
    """The near end of every added edge."""
    ends: Rows = field(default_factory=nothing, repr=False)
    added: Rows = field(default_factory=nothing, repr=False)
    """The rows of the added edges."""

    @property
    def numbers(self) -> int:
        """An exclusive upper bound of the numbers of both ends."""
        return max(self.near.size, self.far.size)

    @cached_property
    def _more(self) -> tuple[Rows, Adjacency]:
        """The added edges: the near nodes that have some, and their lists."""
        who = sorted_set(self.starts)
        return who, adjacency(np.searchsorted(who, self.starts), self.ends, self.added, len(who))

    @cached_property
    def few_added(self) -> Mapping[int, Sequence[int]] | None:
        """The added neighbours by node; None if there are many, or some edge or node of the base is gone."""
        if len(self.starts) > FEW_ADDED_MAX or len(self.edges.lost) or len(self.far.gone):
            return None
        found: dict[int, list[int]] = {}
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            found.setdefault(start, []).append(end)
        return found

    def degrees(self, numbers: Rows) -> Rows:
        """An upper bound of the number of steps from each of the nodes."""
        counts = np.zeros(len(numbers), np.int64)
        based = numbers < self.base.nodes
        counts[based] = self.base.degrees(numbers[based])
        if len(self.starts):
            who, more = self._more
            known = contains(who, numbers)
            counts[known] += more.degrees(np.searchsorted(who, numbers[known]))
        return counts

    def step(self, numbers: Rows, *, keep_edges: bool = False) -> tuple[Rows, Rows, Rows]:
        """One step from every node: the position of the node in the input, the neighbour, and the edge's row.

        Without ``keep_edges`` every pair occurs once and edge rows are undefined.
        """
        if keep_edges or not len(self.starts) or len(self.edges.lost):
            return self._step(numbers, keep_edges=keep_edges)
        # Only nodes with added edges need deduplication. With deleted edges, finding them costs more than it saves.
        is_changed = contains(self.changed, numbers)
        if is_changed.all():
            return self._step(numbers, keep_edges=False)
        kept, changed = np.flatnonzero(~is_changed), np.flatnonzero(is_changed)
        walked = _walk(self.base.pairs, numbers[kept])
        if len(self.far.gone):
            here = ~contains(self.far.gone, walked[1])
            walked = walked[0][here], walked[1][here], walked[2][here]
        if not len(changed):
            return kept[walked[0]], walked[1], walked[2]
        more = self._step(numbers[changed], keep_edges=False)
        position = np.concatenate((kept[walked[0]], changed[more[0]]))
        return position, np.concatenate((walked[1], more[1])), NOTHING

    def _step(self, numbers: Rows, *, keep_edges: bool) -> tuple[Rows, Rows, Rows]:
        has_gone = len(self.edges.lost) > 0
        used = self.base if keep_edges or has_gone else self.base.pairs
        position, neighbour, edge = _walk(used, numbers)
        repeats = has_gone and not self.base.is_simple
        if has_gone:
            keep = ~contains(self.edges.lost, edge)
            position, neighbour, edge = position[keep], neighbour[keep], edge[keep]
        if keep_edges:
            edge = self.edges.to_row(edge)
        if len(self.starts):
            more = self._added_step(numbers)
            repeats = repeats or len(more[0]) > 0
            position, neighbour = np.concatenate((position, more[0])), np.concatenate((neighbour, more[1]))
            edge = np.concatenate((edge, more[2]))
        if len(self.far.gone):
            keep = ~contains(self.far.gone, neighbour)
            position, neighbour, edge = position[keep], neighbour[keep], edge[keep]
        if repeats and not keep_edges:
            keys = sorted_set(position * self.numbers + neighbour)
            position, neighbour = keys // self.numbers, keys % self.numbers
        return position, neighbour, edge

    def connected(self, numbers: Rows, neighbours: Rows, probed_share: int = PROBED_SHARE) -> Mask | None:
        """For every pair whether an edge leads from one to the other; None if stepping is cheaper."""
        steps = int(self.degrees(numbers).sum())
        if len(self.edges.lost) or len(self.far.gone) or steps * probed_share < len(self.base.neighbours):
            return None
        held = self.base.holds(numbers, neighbours)
        if len(self.starts):
            held |= contains(np.sort(self.starts * self.numbers + self.ends), numbers * self.numbers + neighbours)
        return held

    def far_ends(self, numbers: Rows) -> Integers:
        """The neighbours of some nodes, unordered and with repetitions."""
        ends = self._base_ends(numbers)
        if len(self.starts):
            ends = np.concatenate((ends, self._added_ends(numbers)))
        return ends[~contains(self.far.gone, ends)] if len(self.far.gone) else ends

    def _base_ends(self, numbers: Rows) -> Integers:
        base, lost = self.base, self.edges.lost
        if len(numbers) and int(numbers.max()) >= base.nodes:
            # Nodes added since the base have no edges here.
            numbers = numbers[numbers < base.nodes]
        if len(numbers) <= SLICED_MAX and not len(lost):
            bounds = zip(base.offsets[numbers].tolist(), base.offsets[numbers + 1].tolist(), strict=True)
            pieces = [base.neighbours[first:last] for first, last in bounds]
            return pieces[0] if len(pieces) == 1 else np.concatenate([*pieces, base.neighbours[:0]])
        starts = base.offsets[numbers].astype(np.int64)
        counts = base.offsets[numbers + 1] - starts
        slots = np.arange(int(counts.sum())) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        ends: Integers = base.neighbours[slots]
        return ends[~contains(lost, base.edges[slots])] if len(lost) else ends

    def _added_ends(self, numbers: Rows) -> Rows:
        if len(numbers) != 1:
            return self._added_step(numbers)[1]
        ends: Rows = self.ends[self.starts == numbers[0]]
        return ends

    def _added_step(self, numbers: Rows) -> tuple[Rows, Rows, Rows]:
        who, more = self._more
        known = np.flatnonzero(contains(who, numbers))
        position, slot = more.of(np.searchsorted(who, numbers[known]))
        return known[position], more.neighbours[slot], more.edges[slot]

    @property
    def is_changed(self) -> bool:
        """True if edges were added or deleted since the base."""
        return len(self.edges.lost) > 0 or len(self.starts) > 0

    @cached_property
    def changed(self) -> Rows:
        """The nodes whose neighbours differ from the base, ascending."""
        slots = np.flatnonzero(contains(self.edges.lost, self.base.edges)) if len(self.edges.lost) else nothing()
        return sorted_set(np.concatenate((self.starts, np.searchsorted(self.base.offsets, slots, side="right") - 1)))

    @cached_property
    def whole(self) -> Adjacency:
        """All lists with changes applied, over rows instead of numbers."""
        if not (self.near.changes or self.far.changes or self.edges.changes or len(self.near.to_row.starts)):
            return self.base
        keep = ~contains(self.edges.lost, self.base.edges)
        sources = self.near.to_row(np.concatenate((self.base.origins()[keep], self.starts)))
        targets = self.far.to_row(np.concatenate((self.base.neighbours[keep], self.ends)))
        edges = np.concatenate((self.edges.to_row(self.base.edges[keep]), self.added))
        known = (sources >= 0) & (targets >= 0)
        nodes = max(self.near.rows, int(sources.max(initial=-1)) + 1)
        return adjacency(sources[known], targets[known], edges[known], nodes)


def _walk(lists: Adjacency, numbers: Rows) -> tuple[Rows, Rows, Rows]:
    """Positions, neighbours and edges of the nodes that are in the lists."""
    if len(numbers) and int(numbers.max()) >= lists.nodes:
        based = np.flatnonzero(numbers < lists.nodes)
        position, slot = lists.of(numbers[based])
        position = based[position]
    else:
        position, slot = lists.of(numbers)
    return position, _wide(lists.neighbours[slot]), _wide(lists.edges[slot])


def _wide(numbers: Integers) -> Rows:
    return numbers.astype(np.int64)


@dataclass(frozen=True)
class Topology:
    """One edge table in both directions."""

    base: Base
    source: Correspondence
    target: Correspondence
    edge: Correspondence
    sources: Rows = field(default_factory=nothing, repr=False)
    targets: Rows = field(default_factory=nothing, repr=False)
    added: Rows = field(default_factory=nothing, repr=False)
    """The rows of edges that are not in the base; ``sources`` and ``targets`` are the numbers of their ends."""

    @property
    def within_one_type(self) -> bool:
        return self.base.within_one_type

    @cached_property
    def out(self) -> Lists:
        ends = (self.sources, self.targets, self.added)
        return Lists(self.base.lists("out"), self.source, self.target, self.edge, *ends)

    @cached_property
    def into(self) -> Lists:
        ends = (self.targets, self.sources, self.added)
        return Lists(self.base.lists("into"), self.target, self.source, self.edge, *ends)

    @cached_property
    def both(self) -> Lists:
        """Both directions together; only for edges within one type. A self-loop occurs once."""
        turned = self.sources != self.targets
        ends = (
            np.concatenate((self.sources, self.targets[turned])),
            np.concatenate((self.targets, self.sources[turned])),
            np.concatenate((self.added, self.added[turned])),
        )
        return Lists(self.base.lists("both"), self.source, self.target, self.edge, *ends)

    @cached_property
    def is_complete(self) -> bool:
        """True if every live edge of the table has both of its nodes, as far as that is known without a search."""
        if self.base.has_dangling:
            return False
        # The edges of a node that was deleted since the base must have been deleted with it.
        for gone, lists in ((self.source.gone, self.out), (self.target.gone, self.into)):
            if len(gone):
                _, slots = lists.base.of(gone)
                if not contains(self.edge.lost, lists.base.edges[slots]).all():
                    return False
        return True

    @cached_property
    def loops(self) -> Rows:
        """Numbers of the nodes with a self-loop; empty between two types."""
        if not self.within_one_type:
            return NOTHING
        candidates = sorted_set(np.concatenate((self.base.loops, self.sources[self.sources == self.targets])))
        if not len(candidates) or not self.edge.changes:
            return candidates
        position, neighbour, _ = self.out.step(candidates)
        return sorted_set(neighbour[candidates[position] == neighbour])
