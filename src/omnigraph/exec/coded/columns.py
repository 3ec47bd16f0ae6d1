"""Cache of the codes of columns, bounded by bytes; a commit encodes the rows of its own fragments only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.core.lru import Lru, held_bytes
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Integers
from omnigraph.exec.coded.codes import Coded, extended, has_codes, narrowest
from omnigraph.storage.tables.columns_by_fragment import layout_of, read_parts
from omnigraph.storage.tables.row_layout import Layout
from omnigraph.storage.tables.store import Store

CODES_BYTES_MAX = 128 * 1024 * 1024
"""Bytes of cached codes in one process."""

COLUMNS_MAX = 4096
"""Columns whose latest encoded version, or lack of codes, is recorded."""

Key = tuple[str, int, str]
"""Location, version and column."""

Lineage = tuple[str, int]
"""Location and field: one column through all versions of a table."""


class CodedColumns:
    """Codes by pin and column."""

    def __init__(self) -> None:
        self._known: Lru[Key, Coded] = Lru(CODES_BYTES_MAX, held_bytes)
        self._latest: Lru[Lineage, tuple[Key, Layout]] = Lru(COLUMNS_MAX)
        self._without: Lru[Lineage, bool] = Lru(COLUMNS_MAX)

    def known(self, pin: TablePin, name: str) -> Coded | None:
        """The codes of a column that are cached for exactly this pin."""
        return self._known.get((pin.location, pin.lance_version, name))

    def get(self, store: Store, pin: TablePin, name: str, read: Callable[[], pa.Array]) -> Coded | None:
        """The codes of a column, made if necessary; None if it has too many values. ``read`` gives the whole column."""
        known = self.known(pin, name)
        if known is not None:
            return known
        layout = layout_of(store, pin)
        lineage = (pin.location, layout.fields[name])
        if self._without.get(lineage):
            return None
        made = self._carried_over(store, pin, name, layout) or _encoded(read())
        if made is None:
            self._without.put(lineage, True)
            return None
        key = (pin.location, pin.lance_version, name)
        self._known.put(key, made)
        self._latest.put(lineage, (key, layout))
        return made

    def _carried_over(self, store: Store, pin: TablePin, name: str, layout: Layout) -> Coded | None:
        """The codes of shared fragments from the version encoded last, and new codes of the others."""
        latest = self._latest.get((pin.location, layout.fields[name]))
        before = None if latest is None else self._known.get(latest[0])
        if latest is None or before is None:
            return None
        places = {part.data: part.start for part in latest[1].parts}
        if sum(part.rows for part in layout.parts if part.data in places) * 2 < layout.size:
            return None
        values, codes = before.values, list[Integers]()
        for part in layout.parts:
            start = places.get(part.data)
            if start is not None:
                codes.append(before.codes[start : start + part.rows])
                continue
            added = extended(values, read_parts(store, pin, [part], name))
            if added is None:
                return None
            values = added.values
            codes.append(added.codes)
        return Coded(np.concatenate(codes).astype(narrowest(len(values)), copy=False), values)


def _encoded(column: pa.Array) -> Coded | None:
    return extended(pa.array([], column.type), column) if has_codes(column) else None
