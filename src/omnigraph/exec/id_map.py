"""Hash maps from ids to row offsets, one per fragment.

A fragment is immutable, so its map is persisted and memory-mapped like neighbour lists. An id is found by binary
search among sorted hashes. The caller compares the id itself, so a hash collision does no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Integers
from omnigraph.exec.budget import hand_back
from omnigraph.storage.tables.array_cache import ArrayCache
from omnigraph.storage.tables.columns_by_fragment import read_parts
from omnigraph.storage.tables.row_layout import Fragment
from omnigraph.storage.tables.store import Store

FORMAT = 1

MAPS_MAX = 256
"""Maps kept open by one process; they are memory-mapped and cost no private memory."""

HANDED_BACK_ROWS_MIN = 500_000
"""Rows of a fragment whose map needs enough memory to hand it back."""

LOOKUPS_BEFORE = 3
"""Index lookups of ids before a map is built."""

Hashes = npt.NDArray[np.uint64]


def hashes(texts: pa.Array) -> Hashes:
    """A 64-bit hash of every text, stable across processes, over eight bytes at a time."""
    # Only maps of large fragments need it: most commands start without it.
    from omnigraph.rows.text_set import TextBytes

    return TextBytes.of(texts).hashes()


@dataclass(frozen=True)
class IdMap:
    """Hashes of the ids of a fragment, ascending, and the offset of each."""

    hashes: Integers
    offsets: Integers

    def offsets_of(self, hashed: int) -> list[int]:
        """The offsets whose id may be the one with this hash."""
        wanted = np.uint64(hashed)
        low, high = (int(np.searchsorted(self.hashes, wanted, side=side)) for side in ("left", "right"))
        return [int(offset) for offset in self.offsets[low:high]]


class IdMaps:
    """Maps by fragment."""

    def __init__(self, files: ArrayCache) -> None:
        self._files = files
        self._known: Lru[str, IdMap] = Lru(MAPS_MAX)
        self._asked: Lru[str, int] = Lru(MAPS_MAX)

    def is_worthwhile(self, pin: TablePin, parts: Sequence[Fragment], *, is_indexed: bool) -> bool:
        """True if ids should be looked up in maps: they exist, lookups repeat, or there is no index."""
        missing = [part for part in parts if self._known.get(part.data) is None]
        times = max((self._asked.get(part.data) or 0 for part in missing), default=0)
        for part in missing:
            self._asked.put(part.data, times + 1)
            stored = self._stored(pin.location, part) if times == 0 else None
            if stored is not None:
                self._known.put(part.data, stored)
        is_there = all(self._known.get(part.data) is not None for part in missing)
        return is_there or not is_indexed or times >= LOOKUPS_BEFORE

    def known(self, part: Fragment) -> IdMap | None:
        """The map of a fragment, if this process has it."""
        return self._known.get(part.data)

    def get(self, store: Store, pin: TablePin, part: Fragment) -> IdMap:
        """The map of a fragment, from memory, from disk, or built."""
        known = self._known.get(part.data)
        if known is None:
            known = self._stored(pin.location, part) or self._made(store, pin, part)
            self._known.put(part.data, known)
        return known

    def _stored(self, location: str, part: Fragment) -> IdMap | None:
        entry = self._files.entry(_group(location), _key(part))
        if entry is None or entry.about.get("format") != FORMAT:
            return None
        found, offsets = entry.array("hashes"), entry.array("offsets")
        if found is None or offsets is None or len(found) != part.rows or len(offsets) != part.rows:
            return None
        self._files.touch(entry)
        return IdMap(found, offsets)

    def _made(self, store: Store, pin: TablePin, part: Fragment) -> IdMap:
        found = hashes(read_parts(store, pin, [part], "id"))
        order = np.argsort(found)
        made = IdMap(found[order], order.astype(np.int32))
        arrays = {"hashes": made.hashes, "offsets": made.offsets}
        entry = self._files.save(_group(pin.location), _key(part), {"format": FORMAT, "data": part.data}, arrays)
        if part.rows >= HANDED_BACK_ROWS_MIN:
            del found, order
            hand_back()
        # The mapped copy: its pages can be evicted, and are shared by processes.
        return made if entry is None else self._stored(pin.location, part) or made


def _group(location: str) -> str:
    return f"ids-{location.replace('/', '-')}"


def _key(part: Fragment) -> str:
    return hashlib.sha256(part.data.encode()).hexdigest()[:32]
