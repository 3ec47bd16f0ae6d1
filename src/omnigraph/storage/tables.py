"""Reading pinned tables: whole, by filter, by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.filters import Comparison, build_filter, ids_filter
from omnigraph.storage.store import Store

IDS_PER_FILTER_MAX = 2_000
"""Ids in one filter: an ``in`` list costs some 40 us a key, and its text must stay reasonable."""


def scan(
    store: Store,
    pin: TablePin,
    columns: Sequence[str] | None = None,
    where: Comparison | None = None,
    *,
    with_address: bool = False,
    blobs_as_bytes: bool = False,
    batch_rows: int = 65_536,
) -> Iterator[pa.RecordBatch]:
    """The rows of a table, batch by batch, in storage order."""
    dataset = store.open(pin.location, pin.lance_version)
    scanner = dataset.scanner(
        columns=None if columns is None else list(columns),
        filter=None if where is None else build_filter(where),
        with_row_address=with_address,
        batch_size=batch_rows,
        blob_handling="all_binary" if blobs_as_bytes else None,
    )
    try:
        yield from scanner.to_batches()
    except (OSError, pa.ArrowInvalid) as error:
        raise CorruptionError(
            f"table {pin.key} at version {pin.table_version} cannot be read: {error}",
            hint="omnigraph verify names what is missing",
            table=pin.key,
        ) from error


def read_table(store: Store, pin: TablePin, columns: Sequence[str] | None, where: Comparison | None = None) -> pa.Table:
    """The rows that match, in memory."""
    dataset = store.open(pin.location, pin.lance_version)
    batches = list(scan(store, pin, columns, where))
    schema = dataset.schema if columns is None else pa.schema([dataset.schema.field(name) for name in columns])
    return pa.Table.from_batches(batches, schema=None if batches else schema)


def find_ids(store: Store, pin: TablePin, ids: Iterable[str]) -> dict[str, int]:
    """Row addresses of the ids that exist."""
    wanted = list(dict.fromkeys(ids))
    if not wanted or pin.rows == 0:
        return {}
    dataset = store.open(pin.location, pin.lance_version)
    cached = store.keys.find(pin.location, dataset, wanted)
    if cached is not None:
        return cached
    found: dict[str, int] = {}
    for start in range(0, len(wanted), IDS_PER_FILTER_MAX):
        part = wanted[start : start + IDS_PER_FILTER_MAX]
        table = dataset.scanner(columns=["id"], filter=ids_filter("id", part), with_row_address=True).to_table()
        found.update(zip(table.column("id").to_pylist(), table.column("_rowaddr").to_pylist(), strict=True))
    return found


def rows_with(
    store: Store, pin: TablePin, column: str, values: Sequence[str], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows whose text column holds one of the values."""
    if pin.rows == 0:
        return
    dataset = store.open(pin.location, pin.lance_version)
    if len(values) <= IDS_PER_FILTER_MAX:
        yield from dataset.scanner(columns=list(columns), filter=ids_filter(column, values)).to_batches()
        return
    wanted = pa.array(values, pa.string())
    for batch in dataset.scanner(columns=list(columns)).to_batches():
        yield batch.filter(pc.is_in(batch.column(column), value_set=wanted))
