"""Rows of small fragments that this process wrote, so that folding them asks the store nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict

import pyarrow as pa

REMEMBERED_BYTES_MAX = 64 * 1024 * 1024
"""Bytes remembered per store, oldest first to go."""

REMEMBERED_TABLE_BYTES_MAX = 1024 * 1024
"""Rows of larger fragments are not remembered: folding is for small ones."""


class RecentRows:
    """The rows of small fragments this process wrote, by data file."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, path: str, rows: pa.Table) -> None:
        with self._lock:
            if path in self._tables or rows.nbytes > REMEMBERED_TABLE_BYTES_MAX:
                return
            self._tables[path] = rows
            self._bytes += rows.nbytes
            while self._bytes > REMEMBERED_BYTES_MAX:
                self._bytes -= self._tables.popitem(last=False)[1].nbytes

    def get(self, path: str) -> pa.Table | None:
        with self._lock:
            return self._tables.get(path)
