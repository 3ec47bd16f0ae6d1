"""Base of a topology: the neighbour lists of one version of three tables, and the layouts they were built from.

Encoding ids is the only expensive step, so a base is persisted and memory-mapped. It is shared by every branch and
commit with the same fragments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Adjacency, Integers, Rows, adjacency, sorted_set
from omnigraph.exec.topology.pins import Pins
from omnigraph.storage.tables.array_cache import Entry
from omnigraph.storage.tables.row_layout import Fragment, Layout

FORMAT = 1
SIDES = ("edge", "source", "target")


@dataclass(frozen=True)
class Recorded:
    """A table as it was when the base was built."""

    pin: TablePin
    layout: Layout


@dataclass
class Base:
    """The edges of three pins as lists. A direction is derived when it is first walked."""

    key: str
    edge: Recorded
    source: Recorded
    target: Recorded
    has_dangling: bool
    """Edges were left out because a node was missing."""
    entry: Entry | None = field(default=None, repr=False)
    known: dict[str, Adjacency] = field(default_factory=dict, repr=False)
    _loops: Rows | None = field(default=None, repr=False)

    @property
    def within_one_type(self) -> bool:
        return self.source.pin.key == self.target.pin.key

    @property
    def edges(self) -> int:
        return len(self.lists("out").edges)

    def lists(self, direction: str) -> Adjacency:
        """Neighbour lists of one direction: ``out``, ``into`` or ``both``."""
        if direction not in self.known:
            self.known[direction] = _mapped(self.entry, direction) or self._derived(direction)
        return self.known[direction]

    def _derived(self, direction: str) -> Adjacency:
        out = self.lists("out")
        sources, targets, edges = out.origins(), out.neighbours.astype(np.int64), out.edges
        if direction == "into":
            made = adjacency(targets, sources, edges, self.target.layout.size)
        else:
            turned = sources != targets
            made = adjacency(
                np.concatenate((sources, targets[turned])),
                np.concatenate((targets, sources[turned])),
                np.concatenate((edges, edges[turned])),
                self.source.layout.size,
            )
        made = narrow(made)
        if self.entry is None:
            return made
        self.entry.add(named(direction, made))
        return _mapped(self.entry, direction) or made

    @property
    def loops(self) -> Rows:
        """Nodes with a self-loop, ascending; undefined between two types."""
        if self._loops is None:
            stored = None if self.entry is None else self.entry.array("loops")
            self._loops = loops_of(self.lists("out")) if stored is None else stored.astype(np.int64)
        return self._loops


def loops_of(out: Adjacency) -> Rows:
    """Nodes with a self-loop."""
    origins = out.origins()
    return sorted_set(origins[origins == out.neighbours])


def narrow(lists: Adjacency) -> Adjacency:
    """The same lists with 32-bit integers where values fit: half the file and half the memory traffic."""
    return Adjacency(_narrow(lists.offsets), _narrow(lists.neighbours), _narrow(lists.edges))


def _narrow(numbers: Integers) -> Integers:
    fits = int(numbers.max(initial=0)) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fits else numbers


def named(direction: str, lists: Adjacency) -> dict[str, Integers]:
    """Lists as named arrays. Offsets are written last, so their presence proves that the others are complete."""
    return {
        f"{direction}-neighbours": lists.neighbours,
        f"{direction}-edges": lists.edges,
        f"{direction}-offsets": lists.offsets,
    }


def _mapped(entry: Entry | None, direction: str) -> Adjacency | None:
    if entry is None:
        return None
    offsets = entry.array(f"{direction}-offsets")
    neighbours, edges = entry.array(f"{direction}-neighbours"), entry.array(f"{direction}-edges")
    if offsets is None or neighbours is None or edges is None or int(offsets[-1]) != len(neighbours):
        return None
    return Adjacency(offsets, neighbours, edges)


def base_key(pins: Pins) -> str:
    """The cache key of exactly these rows of these three tables."""
    digests = [table.layout.digest for table in pins.tables]
    parts = (FORMAT, *digests, *([pins.tags] if pins.tags else []))
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:32]


def description(base: Base) -> dict[str, Any]:
    """The metadata stored beside the arrays."""
    sides = {name: _side(getattr(base, name)) for name in SIDES}
    return {"format": FORMAT, "key": base.key, "has_dangling": base.has_dangling, **sides}


def _side(recorded: Recorded) -> dict[str, Any]:
    pin = recorded.pin
    return {
        "pin": [pin.key, pin.location, pin.lance_version, pin.table_version, pin.rows],
        "parts": [[part.fragment, part.data, part.deletions, part.rows] for part in recorded.layout.parts],
    }


def arrays(base: Base) -> dict[str, Integers]:
    """The arrays of a new base, which has only its first direction."""
    dead = {f"{name}-dead": getattr(base, name).layout.dead for name in SIDES}
    return {**dead, "loops": base.loops, **named("out", base.lists("out"))}


def read_base(entry: Entry) -> Base | None:
    """A base from disk; None if its format is another or arrays are missing."""
    about = entry.about
    if about.get("format") != FORMAT:
        return None
    sides = {name: _recorded(about[name], entry.array(f"{name}-dead")) for name in SIDES}
    edge, source, target = (sides[name] for name in SIDES)
    lists = _mapped(entry, "out")
    if edge is None or source is None or target is None or lists is None:
        return None
    return Base(about["key"], edge, source, target, about["has_dangling"], entry, {"out": lists})


def _recorded(side: Mapping[str, Any], dead: Integers | None) -> Recorded | None:
    if dead is None:
        return None
    parts: list[Fragment] = []
    start = 0
    for fragment, data, deletions, rows in side["parts"]:
        parts.append(Fragment(fragment, data, deletions, start, rows))
        start += rows
    return Recorded(TablePin(*side["pin"]), Layout(tuple(parts), dead.astype(np.int64), {}))
