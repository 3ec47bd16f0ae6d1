"""Topology cache: neighbour lists of three pinned tables, from memory, from disk, by delta from a base, or built.

Invariant: a topology returned for three pins describes exactly the live edges between live nodes of those pins. Entries
are keyed by the digests of the tables' fragments, never by branch or commit, so an entry cannot become stale: other
rows have another key, and equal fragments on two branches share one entry.

``find`` never encodes a whole table; ``get`` does if nothing else works. The order of attempts, cheapest first:

1. this process holds the topology for exactly these pins;
2. the topology found last, if rows were only added since;
3. a base in memory, or on disk, plus few enough changes (``Tuning.changed_share``);
4. a rebuild from a base: shared fragments are not encoded again;
5. a build from the id columns, which dominates the cost.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.errors import OmnigraphError
from omnigraph.exec.adjacency import Adjacency, Rows, adjacency
from omnigraph.exec.budget import hand_back
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.base import Base, Recorded, arrays, base_key, description, narrow, read_base
from omnigraph.exec.topology.ends import OTHER, EdgeEnds
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.pins import Pins
from omnigraph.exec.topology.renumber import Correspondence, correspondence, extended, unchanged
from omnigraph.storage.tables.array_cache import ArrayCache
from omnigraph.storage.tables.row_layout import Layout

TOPOLOGIES_MAX = 64
"""Topologies kept open by one process. Large ones are memory-mapped and cost no private memory."""

MISSED_MAX = 3
"""Index lookups on an edge type after which its neighbour lists are built in the background."""

PERSISTED_EDGES_MIN = 50_000
"""Smaller topologies are not persisted: every process builds them within milliseconds."""

BASES_MAX = 4
"""Bases of one edge table kept open by one process."""


class _Versions(NamedTuple):
    """The three tables of a topology: a key that costs nothing to make."""

    edges: tuple[str, str]
    """The location of the edge table, and the pair of types."""
    edge: int
    source: tuple[str, int]
    target: tuple[str, int]

    @classmethod
    def of(cls, pins: Pins) -> _Versions:
        edge, source, target = pins.edge.pin, pins.source.pin, pins.target.pin
        ends = (source.location, source.lance_version), (target.location, target.lance_version)
        return cls((edge.location, pins.tags), edge.lance_version, *ends)


class _Found(NamedTuple):
    """A topology over a base, and the layouts of its three tables."""

    topology: Topology
    edge: Layout
    source: Layout
    target: Layout

    @classmethod
    def of(cls, topology: Topology, pins: Pins) -> _Found:
        return cls(topology, pins.edge.layout, pins.source.layout, pins.target.layout)

    def extended(self, pins: Pins, ends: EdgeEnds) -> Topology | None:
        """The topology with the edges and nodes added since; None if anything else happened."""
        before = self.topology
        edges = extended(before.edge, self.edge, pins.edge.layout, has_ids=False)
        sources = extended(before.source, self.source, pins.source.layout, has_ids=True)
        if edges is None or sources is None:
            return None
        is_one = before.within_one_type
        targets = sources if is_one else extended(before.target, self.target, pins.target.layout, has_ids=True)
        if targets is None:
            return None
        if before.base.has_dangling and (sources is not before.source or targets is not before.target):
            # An edge that was left out because its node was missing may have found the node since.
            return None
        added = _added(pins, edges.fresh[len(before.edge.fresh) :], sources, targets, ends)
        if added is None:
            return None
        starts, stops = np.concatenate((before.sources, added[0])), np.concatenate((before.targets, added[1]))
        # If all edges count, the added ones are the fresh rows of the table.
        rows = np.concatenate((before.added, added[2])) if pins.type_columns else edges.fresh
        return Topology(before.base, sources, targets, edges, starts, stops, rows)


class Topologies:
    """Topologies by the fragments they were built from. Safe for several threads."""

    def __init__(self, files: ArrayCache, persisted_edges_min: int = PERSISTED_EDGES_MIN) -> None:
        self._files = files
        self._persisted_edges_min = persisted_edges_min
        self._known: Lru[str, Topology] = Lru(TOPOLOGIES_MAX)
        self._by_pins: Lru[_Versions, Topology] = Lru(TOPOLOGIES_MAX)
        self._bases: Lru[str, tuple[Base, ...]] = Lru(TOPOLOGIES_MAX)
        self._missed: Lru[str, int] = Lru(TOPOLOGIES_MAX)
        self._ends = EdgeEnds()
        self._latest: Lru[tuple[str, str], _Found] = Lru(TOPOLOGIES_MAX)
        self._lock = threading.Lock()

    def find(self, pins: Pins) -> Topology | None:
        """A topology that needs no encoding of a whole table; None if there is none."""
        found = self.follow(pins)
        if found is None:
            key = base_key(pins)
            found = self._kept(pins, _Versions.of(pins), self._known.get(key) or self._nearest(key, pins))
            if found is not None:
                self._known.put(key, found)
        return found

    def follow(self, pins: Pins) -> Topology | None:
        """The topology of these pins that this process holds, or that extends the last one; None otherwise.

        Digests are not computed: right after a commit, that would be most of the work.
        """
        versions = _Versions.of(pins)
        known = self._by_pins.get(versions)
        if known is not None:
            return known
        latest = self._latest.get(versions.edges)
        return None if latest is None else self._kept(pins, versions, latest.extended(pins, self._ends))

    def _kept(self, pins: Pins, versions: _Versions, found: Topology | None) -> Topology | None:
        if found is None or not _is_near(found, pins):
            return None
        self._by_pins.put(versions, found)
        self._latest.put(versions.edges, _Found.of(found, pins))
        return found

    def get(self, pins: Pins) -> Topology:
        """The topology, built if necessary."""
        # One build at a time: two threads that build the same lists would double the peak memory.
        with self._lock:
            # Look again under the lock: the thread that held it may have built these lists.
            found = self.find(pins)
            if found is not None:
                return found
            made = self._made(pins)
            location = _group(pins)
            self._bases.put(location, (made, *(self._bases.get(location) or ())[: BASES_MAX - 1]))
            topology = _exact(made)
            self._known.put(made.key, topology)
            return topology

    def request(self, pins: Pins) -> None:
        """Count a missing topology; after ``MISSED_MAX`` misses a background thread builds it."""
        key = base_key(pins)
        times = (self._missed.get(key) or 0) + 1
        self._missed.put(key, times)
        if times == MISSED_MAX:
            # Not a daemon thread: one that is cut off inside a native library may abort the process at exit.
            threading.Thread(target=self._build_quietly, args=(pins,), name="omnigraph-topology").start()

    def _build_quietly(self, pins: Pins) -> None:
        # A query that needs the lists builds them itself and reports the error.
        with suppress(OmnigraphError):
            self.get(pins)

    def _nearest(self, key: str, pins: Pins) -> Topology | None:
        """The topology over the base with the fewest changes; disk is searched only if memory has none near."""
        group = _group(pins)
        remembered = self._bases.get(group) or ()
        best = _fewest_changes(key, pins, remembered, self._ends)
        if best is None or not _is_near(best, pins):
            known = {base.key for base in remembered}
            stored = [entry for entry in self._files.entries(group) if entry.about.get("key") not in known]
            read = [base for base in map(read_base, stored) if base is not None]
            best = _fewest_changes(key, pins, (*remembered, *read), self._ends)
            self._bases.put(group, (*remembered, *read)[:BASES_MAX])
        if best is not None and best.base.entry is not None:
            # Marks the entry as recently used, so that the size limit of the disk cache evicts others first.
            self._files.touch(best.base.entry)
        return best

    def _made(self, pins: Pins) -> Base:
        nearest = self._nearest(base_key(pins), pins)
        # A base with more changes than edges costs more to carry over than a fresh build.
        is_useful = nearest is not None and _changes(nearest) < nearest.base.edges
        base = rebuild(nearest, pins) if nearest is not None and is_useful else build(pins)
        if len(base.lists("out").edges) < self._persisted_edges_min:
            return base
        entry = self._files.save(_group(pins), base.key, description(base), arrays(base))
        if entry is None:
            return base
        # Use the mapped copy, not the arrays in memory: mapped pages can be evicted and are shared by processes.
        mapped = read_base(entry) or base
        del base
        hand_back()
        return mapped


def _group(pins: Pins) -> str:
    """The name of the bases of an edge table, or of the edges between one pair of types in it."""
    table = pins.edge.pin.location.replace("/", "-")
    return f"topology-{table}" + (f"-{pins.tags.replace('>', '-')}" if pins.tags else "")


def _fewest_changes(key: str, pins: Pins, bases: Sequence[Base], ends: EdgeEnds) -> Topology | None:
    """The topology over the best base; an exact match is tried first and ends the search."""
    best: Topology | None = None
    for base in sorted(bases, key=lambda base: base.key != key):
        changed = _on_top_of(base, pins, ends)
        if changed is not None and (best is None or _changes(changed) < _changes(best)):
            best = changed
        if best is not None and _changes(best) == 0:
            break
    return best


def _is_near(topology: Topology, pins: Pins) -> bool:
    return _changes(topology) <= topology.base.edges // pins.edge.store.tuning.changed_share


def _changes(topology: Topology) -> int:
    # Of the edges added to the table, only those of the pair of types count.
    edges = len(topology.edge.lost) + len(topology.added)
    return edges + topology.source.changes + topology.target.changes


def _exact(base: Base) -> Topology:
    return Topology(base, unchanged(base.source.layout), unchanged(base.target.layout), unchanged(base.edge.layout))


def _on_top_of(base: Base, pins: Pins, ends: EdgeEnds) -> Topology | None:
    """The topology as a base plus changes; None if the base cannot describe these pins.

    Example: the base has edge rows 0 to 2 in fragment A. Row 1 was deleted and fragment B with one row was added::

        base edges       A0 A1 A2
        lost (old)          1           edge row 1 of the base is skipped while stepping
        fresh (new)               3     row 3 of the present table: its ends are looked up by id
    """
    edge, source, target = pins.tables
    # An endpoint type may have been dropped and declared again under the same name: that is another table.
    if (source.pin.location, target.pin.location) != (base.source.pin.location, base.target.pin.location):
        return None
    try:
        changed_edges = correspondence(base.edge.layout, None, edge)
        sources = _nodes(base.source, source)
        targets = sources if base.within_one_type else _nodes(base.target, target)
        if base.has_dangling and (sources.changes or targets.changes):
            # An edge that was left out because its node was missing may have found the node since.
            return None
        added = _added(pins, changed_edges.fresh, sources, targets, ends)
    except OmnigraphError:
        # Cleanup may have deleted files of the version that the base was built from.
        return None
    return None if added is None else Topology(base, sources, targets, changed_edges, *added)


def _added(
    pins: Pins, rows: Rows, sources: Correspondence, targets: Correspondence, known: EdgeEnds
) -> tuple[Rows, Rows, Rows] | None:
    """The numbers of both ends of added edges that count, and their rows.

    None if a node is missing: only a full build can leave the edge out and record that.
    """
    ends = known.of(pins, rows)
    if pins.type_columns:
        is_counted = ends.sources != OTHER
        rows, ends = rows[is_counted], ends.at(is_counted)
    if (ends.sources < 0).any() or (ends.targets < 0).any():
        return None
    return sources.to_number(ends.sources), targets.to_number(ends.targets), rows


def _nodes(recorded: Recorded, table: TableView) -> Correspondence:
    return correspondence(recorded.layout, replace(table, pin=recorded.pin), table)


def build(pins: Pins) -> Base:
    """Encode the endpoints of every edge as row numbers; an edge whose node is missing is left out.

    Example with nodes a b c at rows 0 1 2 and one dangling edge::

        src      a  c  a  b      starts  0  2  0  1
        dst      b  a  c  x      stops   1  0  2 -1
        known    y  y  y  n      has_dangling = True
        lists    0: 1 2, 2: 0    neighbours by node, ascending
    """
    edge, source, target = pins.tables
    rows = pins.counted_rows()
    with ThreadPoolExecutor(2) as pool:
        ends = pool.map(_encoded, (edge, edge), ("src", "dst"), (source, target), (rows, rows))
        starts, stops = ends
    # The memory of millions of ids is not needed again, and sorting comes next.
    hand_back()
    known = (starts >= 0) & (stops >= 0)
    lists = adjacency(starts[known], stops[known], rows[known], source.size)
    return _base(pins, lists, has_dangling=not known.all())


def rebuild(topology: Topology, pins: Pins) -> Base:
    """A base for these pins from an older base; edges in both are not encoded again."""
    return _base(pins, topology.out.whole, has_dangling=topology.base.has_dangling)


def topology_of(pins: Pins, out: Adjacency, *, has_dangling: bool) -> Topology:
    """A topology of some of the edges of three tables. It belongs to no cache of this module: it is not all of them."""
    return _exact(_base(pins, out, has_dangling=has_dangling))


def _base(pins: Pins, out: Adjacency, *, has_dangling: bool) -> Base:
    edge, source, target = (Recorded(table.pin, table.layout) for table in pins.tables)
    return Base(base_key(pins), edge, source, target, has_dangling, known={"out": narrow(out)})


def _encoded(edge: TableView, column: str, nodes: TableView, rows: Rows) -> Rows:
    ids: pa.Array = edge.read_once(column)
    return nodes.rows_of(ids if len(rows) == len(ids) else ids.take(pa.array(rows)))
