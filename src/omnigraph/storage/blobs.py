"""Reading one blob value of a pinned table, in ranges and without the rest of its row."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from lance import BlobFile

from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.failures import FOREIGN
from omnigraph.storage.store import Store


@dataclass(frozen=True)
class StoredBlob:
    """One value. May be shared between threads."""

    pin: TablePin
    size: int
    _file: BlobFile = field(repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self, start: int, length: int) -> bytes:
        """Exactly these bytes; whoever calls has checked that they are there."""
        parts: list[bytes] = []
        missing = length
        try:
            # The place in the file is one for all, so seeking and reading must not be torn apart.
            with self._lock:
                self._file.seek(start)
                while missing and (part := self._file.read(missing)):
                    parts.append(part)
                    missing -= len(part)
        except FOREIGN as error:
            raise _unreadable(self.pin, error) from error
        if missing:
            raise _unreadable(self.pin, f"{missing} of {length} bytes are missing")
        return b"".join(parts)


def find_blob(store: Store, pin: TablePin, address: int, column: str) -> StoredBlob | None:
    """The value of a column in the row at an address, or None if it is null."""
    dataset = store.open(pin.location, pin.lance_version)
    try:
        (file,) = dataset.take_blobs(column, addresses=[address])
        return None if file is None else StoredBlob(pin, file.size(), file)
    except FOREIGN as error:
        raise _unreadable(pin, error) from error


def _unreadable(pin: TablePin, reason: object) -> CorruptionError:
    return CorruptionError(
        f"a blob of {pin.key} at version {pin.table_version} cannot be read: {reason}",
        hint="omnigraph verify names what is missing",
        table=pin.key,
    )
