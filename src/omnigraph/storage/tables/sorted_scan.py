"""Reading a table in the order of its ids, one range of ids at a time, so that memory does not grow with the table.

The bounds of the ranges come from a sample of the ids. Each range is read with a filter, which costs one more read of
the id column, and is sorted in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.tables.filters import AllOf, Comparison, RowFilter
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store

SAMPLES_PER_RANGE = 256
"""Sampled ids for each range: the largest range is then hardly larger than the others."""

AHEAD_BYTES = 64 * 1024 * 1024
"""Read-ahead in bytes; the default of Lance reaches gigabytes."""


def scan_sorted(store: Store, pin: TablePin, columns: Sequence[str], rows_max: int) -> Iterator[pa.Table]:
    """The rows by id, in tables of about ``rows_max`` rows; blobs as bytes."""
    for where in _ranges(store, pin, rows_max) if pin.rows > rows_max else [None]:
        batches = list(scan(store, pin, columns, where, blobs_as_bytes=True, ahead_bytes=AHEAD_BYTES))
        if batches:
            yield pa.Table.from_batches(batches).sort_by("id")


def _ranges(store: Store, pin: TablePin, rows_max: int) -> Iterator[RowFilter]:
    """Filters that together select every row once, in the order of ids."""
    parts = -(-pin.rows // rows_max)
    ids = sorted(_sample(store, pin, max(1, pin.rows // (parts * SAMPLES_PER_RANGE))))
    bounds = list(dict.fromkeys(ids[number * len(ids) // parts] for number in range(1, parts)))
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        sides = [] if low is None else [Comparison("id", ">=", pa.scalar(low))]
        sides += [] if high is None else [Comparison("id", "<", pa.scalar(high))]
        yield AllOf(tuple(sides))


def _sample(store: Store, pin: TablePin, step: int) -> Iterator[str]:
    """Every ``step``-th id in storage order."""
    seen = 0
    for batch in scan(store, pin, ["id"]):
        wanted = pa.array(range(-seen % step, batch.num_rows, step), pa.int64())
        yield from batch.column("id").take(wanted).to_pylist()
        seen += batch.num_rows
