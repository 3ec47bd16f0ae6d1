"""Reading one blob value of a pinned table, in ranges and without the rest of its row."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from lance import BlobFile, LanceDataset

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import take_rows
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import numbers_within


@dataclass(frozen=True)
class StoredBlob:
    """One value. May be shared between threads."""

    pin: TablePin
    size: int
    place: str
    """Identifies the bytes: data files are immutable, and so is the position of a row in them."""
    _file: BlobFile | io.BytesIO = field(repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self, start: int, length: int) -> bytes:
        """Exactly these bytes; the caller has checked that they are inside the value."""
        parts: list[bytes] = []
        missing = length
        try:
            # All threads share one file position, so seek and read form a critical section.
            with self._lock:
                self._file.seek(start)
                while missing and (part := self._file.read(missing)):
                    parts.append(part)
                    missing -= len(part)
        except foreign() as error:
            raise _unreadable(self.pin, error) from error
        if missing:
            raise _unreadable(self.pin, f"{missing} of {length} bytes are missing")
        return b"".join(parts)


def find_blob(store: Store, pin: TablePin, address: int, column: str) -> StoredBlob | None:
    """The value of a column in the row at an address, or None if it is null."""
    if pin.is_external:
        [value] = _external_values(store, pin, column, pa.array([address], pa.uint64())).to_pylist()
        [place] = _external_places(store, pin, column, [address])
        return None if value is None else StoredBlob(pin, len(value), place, io.BytesIO(value))
    dataset = store.open(pin.location, pin.lance_version)
    try:
        (file,) = dataset.take_blobs(column, addresses=[address])
        return None if file is None else StoredBlob(pin, file.size(), _place(dataset, address, column), file)
    except foreign() as error:
        raise _unreadable(pin, error) from error


def _place(dataset: LanceDataset, address: int, column: str) -> str:
    fragment, offset = divmod(address, 1 << OFFSET_BITS)
    found = dataset.get_fragment(fragment)
    assert found is not None, "the row was found in this fragment"
    files = [file.path for file in found.metadata.files]
    return f"{','.join(files)}:{offset}:{column}"


def _external_values(store: Store, pin: TablePin, column: str, addresses: pa.Array) -> pa.Array:
    """Blobs of an external table, which are values of a column like any others."""
    layout = layout_of(store, pin)
    positions = layout.live_positions(layout.numbers_at(addresses.to_numpy()))
    return take_rows(store, pin, positions, [column])[column]


def _external_places(store: Store, pin: TablePin, column: str, addresses: Iterable[int]) -> list[str]:
    files = {part.fragment: part.data for part in layout_of(store, pin).parts}
    places = (divmod(address, 1 << OFFSET_BITS) for address in addresses)
    return [f"{files[number]}:{offset}:{column}" for number, offset in places]


def _unreadable(pin: TablePin, reason: object) -> CorruptionError:
    return CorruptionError(
        f"a blob of {pin.key} at version {pin.table_version} cannot be read: {reason}",
        hint=verify_hint("lists missing files"),
        table=pin.key,
    )


def blob_places(
    store: Store, pin: TablePin, column: str, addresses: pa.Array, described: pa.Array, type_: pa.StructType
) -> pa.StructArray:
    """Descriptions of blobs of a column as size and place: equal places hold equal bytes in every version.

    ``described`` are those of Lance; an external table gives the bytes themselves.
    """
    if pin.is_external:
        sizes = pc.binary_length(described).to_pylist()
        placed = zip(sizes, _external_places(store, pin, column, addresses.to_pylist()), strict=True)
        return pa.array([None if size is None else {"size": size, "place": place} for size, place in placed], type_)
    dataset = store.open(pin.location, pin.lance_version)
    numbers = numbers_within(dataset, column)
    files = {
        item.fragment_id: next((file.path for file in item.metadata.files if numbers.intersection(file.fields)), "")
        for item in dataset.get_fragments()
    }
    places: list[dict[str, object] | None] = []
    for address, blob in zip(addresses.to_pylist(), described.to_pylist(), strict=True):
        if blob is None:
            places.append(None)
            continue
        place = f"{files[address >> OFFSET_BITS]}:{blob['kind']}:{blob['blob_id']}:{blob['position']}"
        places.append({"size": blob["size"], "place": place})
    return pa.array(places, type_)


def blob_values(store: Store, pin: TablePin, column: str, addresses: pa.Array) -> pa.Array:
    """The bytes of a column in the rows at some addresses, in that order."""
    if not len(addresses):
        return pa.array([], pa.large_binary())
    if pin.is_external:
        return _external_values(store, pin, column, addresses)
    dataset = store.open(pin.location, pin.lance_version)
    try:
        files = dataset.take_blobs(column, addresses=addresses.to_pylist())
        found = [None if file is None else StoredBlob(pin, file.size(), "", file) for file in files]
    except foreign() as error:
        raise _unreadable(pin, error) from error
    return pa.array([None if blob is None else blob.read(0, blob.size) for blob in found], pa.large_binary())
