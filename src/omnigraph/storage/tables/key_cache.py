"""Cache of the ids of a table and their addresses, by fragment.

Data file and deletion file determine the ids of a fragment, so an entry is never stale and a new version of a table
needs only its new fragments. A writer adds the ids that it wrote, so an insert into a cached table sends no request.
Tables that are too large for the cache are searched with a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.core.lru import Lru
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.row_addresses import OFFSET_BITS

if TYPE_CHECKING:
    import lance

CACHED_FRAGMENTS_MAX = 4096
"""Fragments cached per store."""

CACHED_LISTS_MAX = 32
"""Lists of fragments cached per store: a write asks for the same version several times."""

FragmentKey = tuple[str, str]
Readable = Callable[[], "lance.LanceDataset"]


def file_name(file: Any) -> str:
    """The name of a data file. Lance's own ``path`` defines a class on every call, a third of the time of a look-up."""
    name: str = file._path
    return name


def fragment_key(location: str, metadata: Any) -> FragmentKey:
    """The identity of a fragment's rows: the names of its data files and of its deletion file."""
    files = ",".join(map(file_name, metadata.files))
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
        self._lists: Lru[tuple[str, int], list[tuple[Any, FragmentKey]]] = Lru(CACHED_LISTS_MAX)

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

    def find(
        self, location: str, dataset: lance.LanceDataset, rows: int, ids: Iterable[str], readable: Readable
    ) -> dict[str, int] | None:
        """Row addresses of the ids that a table with that number of rows holds, or None if it is too large.

        ``readable`` opens the version for reading, which is needed only for fragments that are not cached.
        """
        if rows > self._table_rows_max:
            return None
        listed = self._lists.get((location, dataset.version))
        if listed is None:
            listed = _keyed(location, dataset.get_fragments())
            self._lists.put((location, dataset.version), listed)
        return self._find(location, listed, list(ids), readable)

    def find_in(
        self,
        location: str,
        fragments: Iterable[lance.LanceFragment],
        wanted: list[str],
        readable: Readable,
    ) -> dict[str, int]:
        """The same for some fragments, whatever their size."""
        return self._find(location, _keyed(location, fragments), wanted, readable)

    def _find(
        self,
        location: str,
        listed: list[tuple[lance.LanceFragment, FragmentKey]],
        wanted: list[str],
        readable: Readable,
    ) -> dict[str, int]:
        known = self._read(location, [pair for pair in listed if self._fragments.get(pair[1]) is None], readable)
        found: dict[str, int] = {}
        for fragment, key in listed:
            offsets = known.get(fragment.fragment_id) or self._fragments.get(key) or {}
            found.update(addresses_of(offsets, fragment.fragment_id, wanted))
        return found

    def _read(
        self, location: str, unknown: list[tuple[lance.LanceFragment, FragmentKey]], readable: Readable
    ) -> dict[int, dict[str, int]]:
        """Read and cache the ids of fragments, all in one scan: other processes add one fragment with every commit."""
        if not unknown:
            return {}
        offsets: dict[int, dict[str, int]] = {fragment.fragment_id: {} for fragment, _ in unknown}
        with translated(f"the ids of {location} cannot be read", location=location):
            dataset = readable()
            numbers = {fragment.fragment_id for fragment, _ in unknown}
            fragments = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in numbers]
            table = dataset.scanner(["id"], with_row_address=True, fragments=fragments).to_table()
        ids, addresses = table.column("id").to_pylist(), table.column("_rowaddr").to_pylist()
        for id_, address in zip(ids, addresses, strict=True):
            offsets[address >> 32][id_] = address & 0xFFFFFFFF
        for fragment, key in unknown:
            self._fragments.put(key, offsets[fragment.fragment_id])
        return offsets


def _keyed(location: str, fragments: Iterable[lance.LanceFragment]) -> list[tuple[lance.LanceFragment, FragmentKey]]:
    return [(fragment, fragment_key(location, fragment.metadata)) for fragment in fragments]
