"""The ends of recently added edges as row numbers, kept by fragment.

A topology finds the ends of every edge that its base lacks. Most of these edges are in fragments that the version
before had as well, so only the edges of the last commit, and those whose nodes it rewrote, have to be looked up.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru, held_bytes
from omnigraph.exec.adjacency import Mask, Rows, contains
from omnigraph.exec.cells.ids import Find, id_finder
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.pins import Pins
from omnigraph.storage.tables.columns_by_fragment import recent_rows
from omnigraph.storage.tables.row_layout import Fragment, Layout

CACHED_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of the ends that one process keeps."""

KEPT_SHARE = 2
"""The ends of a fragment are kept if at least one in this many of its rows is new."""

FOUND_ONE_BY_ONE = 16
"""Edges whose ends are looked up without arrays, if their ids are in memory."""

MISSING = -1
"""The end of an edge that was not looked up yet, or whose node did not exist."""

OTHER = -2
"""The end of an edge between other types than those of the lists."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of some edges: row numbers of nodes, or one of the two marks."""

    sources: Rows
    targets: Rows

    @classmethod
    def unknown(cls, size: int) -> Ends:
        return cls(np.full(size, MISSING, np.int64), np.full(size, MISSING, np.int64))

    def at(self, places: Rows | Mask) -> Ends:
        return Ends(self.sources[places], self.targets[places])

    def replaced(self, places: Rows, ends: Ends) -> Ends:
        """A copy with other ends at some places."""
        sources, targets = self.sources.copy(), self.targets.copy()
        sources[places], targets[places] = ends.sources, ends.targets
        return Ends(sources, targets)

    @property
    def nbytes(self) -> int:
        return self.sources.nbytes + self.targets.nbytes


@dataclass(frozen=True, slots=True)
class _Kept:
    """The ends of a whole fragment, and the layouts of the node tables that the numbers belong to."""

    ends: Ends
    source: Layout
    target: Layout

    @property
    def nbytes(self) -> int:
        return self.ends.nbytes


class EdgeEnds:
    """The ends of edges by fragment."""

    def __init__(self) -> None:
        self._kept: Lru[tuple[str, str], _Kept] = Lru(CACHED_BYTES_MAX, held_bytes)

    def of(self, pins: Pins, rows: Rows) -> Ends:
        """The ends of some live rows of the edge table, which are ascending."""
        layout = pins.edge.layout
        if len(rows) and rows[0] >= layout.parts[-1].start:
            # Right after a commit these are the edges of its fragment, which is the last one.
            return self._of_part(pins, layout.parts[-1], rows)
        owners = np.searchsorted(layout.starts, rows, side="right") - 1
        touched, firsts = np.unique(owners, return_index=True)
        bounds = [*firsts.tolist(), len(rows)]
        found = [
            self._of_part(pins, layout.parts[place], rows[low:high])
            for place, low, high in zip(touched.tolist(), bounds[:-1], bounds[1:], strict=True)
        ]
        if len(found) == 1:
            return found[0]
        none = [np.zeros(0, np.int64)]
        return Ends(
            np.concatenate([ends.sources for ends in found] or none),
            np.concatenate([ends.targets for ends in found] or none),
        )

    def _of_part(self, pins: Pins, part: Fragment, rows: Rows) -> Ends:
        if len(rows) * KEPT_SHARE < part.rows:
            return _looked_up(pins, part, rows)
        places, key = rows - part.start, (part.data, pins.tags)
        source, target = pins.source.layout, pins.target.layout
        kept = self._kept.get(key)
        if kept is None and len(rows) == part.rows:
            ends = _looked_up(pins, part, rows)
            self._kept.put(key, _Kept(ends, source, target))
            return ends
        if kept is None or not (_grew_from(source, kept.source) and _grew_from(target, kept.target)):
            kept = _Kept(Ends.unknown(part.rows), source, target)
        ends = kept.ends.at(places)
        stale = np.flatnonzero(_is_stale(ends.sources, source) | _is_stale(ends.targets, target))
        if len(stale):
            known = kept.ends.replaced(places[stale], _looked_up(pins, part, rows[stale]))
            self._kept.put(key, _Kept(known, source, target))
            ends = known.at(places)
        return ends


def _grew_from(layout: Layout, former: Layout) -> bool:
    """True if every row of a former layout has the same number, although rows were deleted or added at the end."""
    if layout is former:
        return True
    shared = zip(layout.parts, former.parts, strict=False)
    return len(layout.parts) >= len(former.parts) and all(part.data == before.data for part, before in shared)


def _is_stale(ends: Rows, layout: Layout) -> Mask:
    """The ends to look up: unknown ones, and those whose row was deleted, because the node may be in another one."""
    is_missing: Mask = ends == MISSING
    return is_missing | contains(layout.dead, ends) if len(layout.dead) else is_missing


def _looked_up(pins: Pins, part: Fragment, rows: Rows) -> Ends:
    source, target = pins.source, pins.target
    if len(rows) == part.rows <= FOUND_ONE_BY_ONE and not pins.type_columns:
        written = recent_rows(pins.edge.store, pins.edge.pin, part)
        from_source = id_finder(source)
        from_target = from_source if target is source else id_finder(target)
        if written is not None and from_source is not None and from_target is not None:
            # The edges of the last commit: nothing is read, and no column of a single value comes into the cache.
            return Ends(_found(from_source, written.column("src")), _found(from_target, written.column("dst")))
    texts = {name: _values(pins.edge, part, name, rows) for name in ("src", "dst", *pins.type_columns)}
    if not pins.type_columns:
        return Ends(_rows_of(source, texts["src"]), _rows_of(target, texts["dst"]))
    # The id of a node of another type may be that of a node of this type as well.
    is_counted = pins.counted(texts, len(rows))
    sources, targets = np.full(len(rows), OTHER, np.int64), np.full(len(rows), OTHER, np.int64)
    counted = pa.array(is_counted)
    sources[is_counted] = _rows_of(source, texts["src"].filter(counted))
    targets[is_counted] = _rows_of(target, texts["dst"].filter(counted))
    return Ends(sources, targets)


def _values(edge: TableView, part: Fragment, name: str, rows: Rows) -> pa.Array:
    piece = edge.columns.piece(edge.store, edge.pin, part, name)
    return edge.stored_values([name], rows)[name] if piece is None else piece.take(pa.array(rows - part.start))


def _rows_of(nodes: TableView, ids: pa.Array) -> Rows:
    find = id_finder(nodes) if len(ids) <= FOUND_ONE_BY_ONE else None
    return nodes.rows_of(ids) if find is None else _found(find, ids)


def _found(find: Find, ids: pa.Array | pa.ChunkedArray) -> Rows:
    return np.array([find(id_) for id_ in ids.to_pylist()], np.int64)
