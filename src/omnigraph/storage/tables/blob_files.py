"""Blob files: Lance writes every large blob value to a file of its own, beside the data file.

They lie in a directory named like the data file, and no fragment names them. Code that syncs, records, checks or
deletes data files must include them. A data file never changes, so a listing stays valid.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.storage.objects.protocol import Objects

INLINE_BYTES_MAX = 64 * 1024
"""Values up to this size are stored in the data file itself."""

REMEMBERED_MAX = 65_536
"""Data files whose blob files are remembered per store."""

SizedFiles = tuple[tuple[str, int], ...]
"""Paths and sizes."""


def has_blobs(schema: pa.Schema) -> bool:
    """True if a stored schema has blob columns."""
    return any(isinstance(field.type, pa.ExtensionType) for field in schema)


class BlobFiles:
    """The blob files of data files, by the path of the data file."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: Lru[str, SizedFiles] = Lru(REMEMBERED_MAX)

    def of(self, data_path: str) -> SizedFiles:
        """The blob files of a data file, listed once."""
        known = self._known.get(data_path)
        if known is None:
            known = tuple(sorted(self._objects.list(f"{data_path.removesuffix('.lance')}/")))
            self.remember(data_path, known)
        return known

    def remember(self, data_path: str, files: SizedFiles) -> None:
        """Cache the blob files of a data file, such as none if every value is small."""
        self._known.put(data_path, files)
