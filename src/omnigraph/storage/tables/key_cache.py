"""Cache of the ids of a table and their addresses, by fragment.

Data file and deletion file determine the ids of a fragment, so an entry is never stale and a new version of a table
needs only its new fragments. A writer adds the ids that it wrote, so an insert into a cached table sends no request.
Tables that are too large for the cache are searched with a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.core.lru import Lru
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.row_addresses import OFFSET_BITS

if TYPE_CHECKING:
    import lance

CACHED_FRAGMENTS_MAX = 4096
"""Fragments cached per store."""

FragmentKey = tuple[str, str]


def fragment_key(location: str, metadata: Any) -> FragmentKey:
    """The identity of a fragment's rows: the names of its data files and of its deletion file."""
    files = ",".join(file.path for file in metadata.files)
    deletion = metadata.deletion_file
    deleted = "" if deletion is None else deletion.path(metadata.id)
    return (f"{location}/{files}", deleted)


def addresses_of(offsets: Mapping[str, int], number: int, wanted: list[str]) -> Iterator[tuple[str, int]]:
    """Those of some ids that a fragment holds, with their addresses."""
    base = number << OFFSET_BITS
    if len(wanted) < len(offsets):
        yield from ((id_, base | offsets[id_]) for id_ in wanted if id_ in offsets)
    else:
        needed = set(wanted)
        yield from ((id_, base | offset) for id_, offset in offsets.items() if id_ in needed)


class KeyCache:
    """Ids by fragment: id -> offset in the fragment."""

    def __init__(self, table_rows_max: int) -> None:
        self._table_rows_max = table_rows_max
        self._fragments: Lru[FragmentKey, dict[str, int]] = Lru(CACHED_FRAGMENTS_MAX)

    def put(self, key: FragmentKey, ids: Iterable[str], removed: Iterable[int] = ()) -> None:
        """Cache a fragment written with these ids in this order, without the removed offsets."""
        gone = set(removed)
        offsets = {id_: offset for offset, id_ in enumerate(ids) if offset not in gone}
        self._fragments.put(key, offsets)

    def derive(self, old: FragmentKey, new: FragmentKey, removed: Sequence[int]) -> None:
        """Cache a fragment as another one without some offsets, if that one is cached."""
        known = self._fragments.get(old)
        if known is not None:
            gone = set(removed)
            self._fragments.put(new, {id_: offset for id_, offset in known.items() if offset not in gone})

    def known(self, key: FragmentKey) -> Mapping[str, int] | None:
        """The ids of a fragment and their offsets, if they are cached."""
        return self._fragments.get(key)

    def find(self, location: str, dataset: lance.LanceDataset, ids: Iterable[str]) -> dict[str, int] | None:
        """Row addresses of the ids that the table holds, or None if the table is too large for the cache."""
        if dataset.count_rows() > self._table_rows_max:
            return None
        return self.find_in(location, dataset.get_fragments(), list(ids))

    def find_in(self, location: str, fragments: Iterable[lance.LanceFragment], wanted: list[str]) -> dict[str, int]:
        """The same for some fragments, whatever their size."""
        found: dict[str, int] = {}
        for fragment in fragments:
            found.update(addresses_of(self._offsets(location, fragment), fragment.fragment_id, wanted))
        return found

    def _offsets(self, location: str, fragment: Any) -> dict[str, int]:
        key = fragment_key(location, fragment.metadata)
        known = self._fragments.get(key)
        if known is not None:
            return known
        with translated(f"the ids of {location} cannot be read", location=location):
            table = fragment.scanner(columns=["id"], with_row_address=True).to_table()
        ids, addresses = table.column("id").to_pylist(), table.column("_rowaddr").to_pylist()
        offsets = {id_: address & 0xFFFFFFFF for id_, address in zip(ids, addresses, strict=True)}
        self._fragments.put(key, offsets)
        return offsets
