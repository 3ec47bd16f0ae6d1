"""Finding the topology of three pins: remembered, on disk, a few changes away from a base, or made anew."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.errors import OmnigraphError
from omnigraph.exec.adjacency import Adjacency, Rows, adjacency
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.base import Base, Recorded, arrays, base_key, description, narrow, read_base
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.renumber import Correspondence, correspondence, unchanged
from omnigraph.storage.tables.array_cache import ArrayCache

TOPOLOGIES_MAX = 16
"""Topologies kept open by one process. Large ones are mapped from disk and cost no memory of their own."""

MISSED_MAX = 3
"""Walks without neighbour lists after which they are made in the background."""

PERSISTED_EDGES_MIN = 50_000
"""Smaller topologies are made anew by every process, within milliseconds."""

BASES_MAX = 4
"""Bases of one edge table kept open by one process."""

CHANGES_SHARE = 16
"""A base is used as long as no more than one edge in this many has changed."""

Pins = tuple[TableView, TableView, TableView]
"""The edge table, and the tables of its two ends."""


class Topologies:
    """Topologies by the fragments they are made of."""

    def __init__(self, files: ArrayCache, persisted_edges_min: int = PERSISTED_EDGES_MIN) -> None:
        self._files = files
        self._persisted_edges_min = persisted_edges_min
        self._known: Lru[str, Topology] = Lru(TOPOLOGIES_MAX)
        self._bases: Lru[str, tuple[Base, ...]] = Lru(TOPOLOGIES_MAX)
        self._missed: Lru[str, int] = Lru(TOPOLOGIES_MAX)
        self._lock = threading.Lock()

    def find(self, pins: Pins) -> Topology | None:
        """A topology that can be had without encoding a whole table."""
        key = base_key(*pins)
        known = self._known.get(key)
        if known is not None:
            return known
        found = self._nearest(key, pins)
        if found is None or not _is_near(found):
            return None
        self._known.put(key, found)
        return found

    def get(self, pins: Pins) -> Topology:
        """The topology, made if need be."""
        with self._lock:
            found = self.find(pins)
            if found is not None:
                return found
            made = self._made(pins)
            location = pins[0].pin.location
            self._bases.put(location, (made, *(self._bases.get(location) or ())[: BASES_MAX - 1]))
            topology = _exact(made)
            self._known.put(made.key, topology)
            return topology

    def ask_for(self, pins: Pins) -> None:
        """Note that lists were missed. If that happens repeatedly they are made, and nobody waits for it."""
        key = base_key(*pins)
        times = (self._missed.get(key) or 0) + 1
        self._missed.put(key, times)
        if times == MISSED_MAX:
            # A program that ends meanwhile waits for it: a thread cut off inside a library may abort the process.
            threading.Thread(target=self._make_quietly, args=(pins,), name="omnigraph-topology").start()

    def _make_quietly(self, pins: Pins) -> None:
        # Whoever needs the lists will see the reason.
        with suppress(OmnigraphError):
            self.get(pins)

    def _nearest(self, key: str, pins: Pins) -> Topology | None:
        """The topology on top of the base that needs the fewest changes. The disk is asked if memory has none near."""
        location = pins[0].pin.location
        remembered = self._bases.get(location) or ()
        best = _fewest_changes(key, pins, remembered)
        if best is None or not _is_near(best):
            known = {base.key for base in remembered}
            stored = [entry for entry in self._files.entries(_group(location)) if entry.about.get("key") not in known]
            read = [base for base in map(read_base, stored) if base is not None]
            best = _fewest_changes(key, pins, (*remembered, *read))
            self._bases.put(location, (*remembered, *read)[:BASES_MAX])
        if best is not None and best.base.entry is not None:
            self._files.touch(best.base.entry)
        return best

    def _made(self, pins: Pins) -> Base:
        nearest = self._nearest(base_key(*pins), pins)
        is_useful = nearest is not None and _changes(nearest) < nearest.base.edges
        base = rebuild(nearest, pins) if nearest is not None and is_useful else build(pins)
        if len(base.lists("out").edges) < self._persisted_edges_min:
            return base
        entry = self._files.save(_group(base.edge.pin.location), base.key, description(base), arrays(base))
        return base if entry is None else read_base(entry) or base


def _group(location: str) -> str:
    return f"topology-{location.replace('/', '-')}"


def _fewest_changes(key: str, pins: Pins, bases: Sequence[Base]) -> Topology | None:
    """What the best of the bases gives, one that fits exactly first."""
    best: Topology | None = None
    for base in sorted(bases, key=lambda base: base.key != key):
        changed = _on_top_of(base, pins)
        if changed is not None and (best is None or _changes(changed) < _changes(best)):
            best = changed
        if best is not None and _changes(best) == 0:
            break
    return best


def _is_near(topology: Topology) -> bool:
    return _changes(topology) <= topology.base.edges // CHANGES_SHARE


def _changes(topology: Topology) -> int:
    return topology.edge.changes + topology.source.changes + topology.target.changes


def _exact(base: Base) -> Topology:
    return Topology(base, unchanged(base.source.layout), unchanged(base.target.layout), unchanged(base.edge.layout))


# --- changes since a base --------------------------------------------------------------------------------


def _on_top_of(base: Base, pins: Pins) -> Topology | None:
    """The topology as a base and what changed since; None if that is not possible."""
    edge, source, target = pins
    if (source.pin.location, target.pin.location) != (base.source.pin.location, base.target.pin.location):
        return None
    try:
        changed_edges = correspondence(base.edge.layout, None, edge)
        sources = _nodes(base.source, source)
        targets = sources if base.within_one_type else _nodes(base.target, target)
        if base.has_dangling and (sources.changes or targets.changes):
            return None
        rows = changed_edges.fresh
        texts = edge.many_values(("src", "dst"), rows)
        starts, ends = source.rows_of(texts["src"]), target.rows_of(texts["dst"])
    except OmnigraphError:
        # The base is of a version whose files are no longer there.
        return None
    if (starts < 0).any() or (ends < 0).any():
        return None
    return Topology(base, sources, targets, changed_edges, sources.to_number(starts), targets.to_number(ends), rows)


def _nodes(recorded: Recorded, table: TableView) -> Correspondence:
    return correspondence(recorded.layout, replace(table, pin=recorded.pin), table)


# --- building --------------------------------------------------------------------------------------------


def build(pins: Pins) -> Base:
    """Encode the endpoints of every edge as row numbers. An edge without its node is left out."""
    edge, source, target = pins
    live = np.ones(edge.size, bool)
    live[edge.layout.dead] = False
    with ThreadPoolExecutor(2) as pool:
        ends = pool.map(_encoded, (edge, edge), ("src", "dst"), (source, target))
        starts, stops = ends
    # The ids of millions of edges were just in memory, and Arrow would keep their place for itself.
    pa.default_memory_pool().release_unused()
    known = (starts >= 0) & (stops >= 0) & live
    lists = adjacency(starts[known], stops[known], np.flatnonzero(known), source.size)
    return _base(pins, lists, has_dangling=bool((live & ~known).any()))


def rebuild(topology: Topology, pins: Pins) -> Base:
    """A base for these pins from an older one: what both hold is not encoded again."""
    return _base(pins, topology.out.whole, has_dangling=topology.base.has_dangling)


def _base(pins: Pins, out: Adjacency, *, has_dangling: bool) -> Base:
    edge, source, target = (Recorded(table.pin, table.layout) for table in pins)
    return Base(base_key(*pins), edge, source, target, has_dangling, known={"out": narrow(out)})


def _encoded(edge: TableView, column: str, nodes: TableView) -> Rows:
    ids: pa.Array = edge.read_once(column)
    return nodes.rows_of(ids)
