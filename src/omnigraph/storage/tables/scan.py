"""Reading pinned tables: whole, by filter, by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.tables.filters import Comparison, Membership, RowFilter
from omnigraph.storage.tables.lance_table import IDS_PER_FILTER_MAX, open_table
from omnigraph.storage.tables.port import ScanOptions
from omnigraph.storage.tables.store import Store


def scan(
    store: Store,
    pin: TablePin,
    columns: Sequence[str] | None = None,
    where: RowFilter | None = None,
    *,
    with_address: bool = False,
    blobs_as_bytes: bool = False,
    batch_rows: int = 65_536,
    use_index: bool = True,
    fragments: Sequence[int] | None = None,
    ahead_bytes: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a table, or of some of its fragments, batch by batch, in storage order.

    ``ahead_bytes`` bounds read-ahead; the default of Lance reaches gigabytes.
    """
    options = ScanOptions(with_address, blobs_as_bytes, batch_rows, use_index, fragments, ahead_bytes)
    return open_table(store, pin).scan(columns, where, options)


def fragment_rows(store: Store, pin: TablePin) -> list[tuple[int, int]]:
    """The fragments of a table and their live rows, in storage order. Reads only the manifest."""
    return [(fragment.number, fragment.rows) for fragment in open_table(store, pin).fragments()]


def fragment_groups(store: Store, pin: TablePin, rows_max: int) -> Iterator[tuple[int, ...]]:
    """All fragments of a table in groups of about ``rows_max`` rows; no fragment is divided."""
    group: list[int] = []
    held = 0
    for number, rows in fragment_rows(store, pin) if pin.rows else []:
        group.append(number)
        held += rows
        if held >= rows_max:
            yield tuple(group)
            group, held = [], 0
    if group:
        yield tuple(group)


def find_ids(store: Store, pin: TablePin, ids: Iterable[str]) -> Mapping[str, int]:
    """Row addresses of the ids that exist."""
    wanted = list(dict.fromkeys(ids))
    return open_table(store, pin).find_ids(wanted, None) if wanted and pin.rows else {}


def find_ids_in(store: Store, pin: TablePin, fragments: Iterable[int], ids: Sequence[str]) -> Mapping[str, int]:
    """Row addresses of the ids that exist in small fragments."""
    return open_table(store, pin).find_ids(list(dict.fromkeys(ids)), set(fragments))


def rows_with(
    store: Store, pin: TablePin, column: str, values: Sequence[str] | None, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows whose text column holds one of the values, or all rows. Recently written rows come from the cache."""
    return open_table(store, pin).rows_with(column, values, columns) if pin.rows else iter(())


def rows_with_ids(
    store: Store, pin: TablePin, column: str, values: Sequence[str], columns: Sequence[str]
) -> dict[str, pa.Array]:
    """Text columns and the addresses of the rows whose text column holds one of the values."""
    names = [*columns, "_rowaddr"]
    batches: list[pa.RecordBatch] = []
    for start in range(0, len(values), IDS_PER_FILTER_MAX):
        where = Membership(column, pa.array(values[start : start + IDS_PER_FILTER_MAX], pa.string()))
        batches.extend(batch.select(names) for batch in scan(store, pin, columns, where, with_address=True))
    types = {name: pa.uint64() if name == "_rowaddr" else pa.string() for name in names}
    return {
        name: pa.concat_arrays([pa.array([], type_), *(batch.column(name) for batch in batches)])
        for name, type_ in types.items()
    }


def take_rows(
    store: Store, pin: TablePin, positions: npt.NDArray[np.int64], names: Sequence[str]
) -> dict[str, pa.Array]:
    """Columns at positions among the live rows of the version, in that order."""
    table = open_table(store, pin)
    if not len(positions):
        return {name: pa.array([], table.schema.field(name).type) for name in names}
    taken = table.take(positions, names).combine_chunks()
    return {name: taken.column(name).chunk(0) for name in names}


def matching_rows(store: Store, pin: TablePin, comparison: Comparison) -> npt.NDArray[np.uint64]:
    """Addresses of the rows that satisfy a comparison, by a full scan.

    Many rows may satisfy it, and for more than one in twenty an index is slower.
    """
    batches = list(scan(store, pin, [], comparison, with_address=True, use_index=False))
    found = [batch.column("_rowaddr").to_numpy() for batch in batches]
    return np.concatenate(found) if found else np.zeros(0, np.uint64)
