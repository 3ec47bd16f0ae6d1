"""Cache of the rows of small fragments that this process wrote, so that folding them sends no request."""

from __future__ import annotations

import pyarrow as pa
from lance import FragmentMetadata, LanceDataset

from omnigraph.core.lru import Lru, held_bytes
from omnigraph.storage.tables.key_cache import file_name
from omnigraph.storage.tables.table_schema import ColumnNumbers, column_numbers

REMEMBERED_BYTES_MAX = 32 * 1024 * 1024
"""Bytes cached per store: the small fragments of some hundred tables."""

REMEMBERED_TABLE_BYTES_MAX = 1024 * 1024
"""Rows of larger fragments are not cached: only small fragments are folded."""


class RecentRows:
    """The rows of small fragments this process wrote, by data file and by the columns they were written with.

    The key holds the columns, because a version with other or renamed columns shows the same file differently.
    """

    def __init__(self) -> None:
        self._tables: Lru[tuple[str, ColumnNumbers], pa.Table] = Lru(REMEMBERED_BYTES_MAX, held_bytes)

    def put(self, path: str, base: LanceDataset, rows: pa.Table) -> None:
        if rows.nbytes <= REMEMBERED_TABLE_BYTES_MAX:
            self._tables.put((path, column_numbers(base)), rows)

    def __len__(self) -> int:
        return len(self._tables)

    def get(self, path: str, columns: ColumnNumbers) -> pa.Table | None:
        return self._tables.get((path, columns))

    def of(self, location: str, fragment: FragmentMetadata, columns: ColumnNumbers) -> pa.Table | None:
        """The rows of a fragment as a version with these columns shows them, deleted ones included."""
        if len(fragment.files) != 1:
            # Another program has put columns into further files, and those of the first one may be outdated.
            return None
        return self.get(f"{location}/data/{file_name(fragment.files[0])}", columns)
