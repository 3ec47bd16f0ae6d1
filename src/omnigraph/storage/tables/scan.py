"""Reading pinned tables: whole, by filter, by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.tables.filters import Comparison, RowFilter, filter_sql, ids_filter
from omnigraph.storage.tables.rows_by_position import take
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import column_numbers

IDS_PER_FILTER_MAX = 2_000
"""Ids in one filter: an ``in`` list costs some 40 us a key, and its text must stay reasonable."""

SCANNED_SHARE = 250
"""Several filters of ids are replaced by one scan of the id column if more than one row in this many is wanted."""


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
    dataset = store.open(pin.location, pin.lance_version)
    scanner = dataset.scanner(
        columns=None if columns is None else list(columns),
        filter=None if where is None else filter_sql(where),
        with_row_address=with_address,
        batch_size=batch_rows,
        blob_handling="all_binary" if blobs_as_bytes else None,
        io_buffer_size=ahead_bytes,
        use_scalar_index=use_index,
        fragments=None if fragments is None else [_fragment(dataset, number) for number in fragments],
    )
    with _reading(pin):
        yield from scanner.to_batches()


def _fragment(dataset: lance.LanceDataset, number: int) -> lance.LanceFragment:
    fragment = dataset.get_fragment(number)
    assert fragment is not None, "fragment numbers come from this very version"
    return fragment


def fragment_rows(store: Store, pin: TablePin) -> list[tuple[int, int]]:
    """The fragments of a table and their live rows, in storage order. Reads only the manifest."""
    dataset = store.open(pin.location, pin.lance_version)
    return [(fragment.fragment_id, fragment.metadata.num_rows) for fragment in dataset.get_fragments()]


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


@contextmanager
def _reading(pin: TablePin) -> Iterator[None]:
    """Translate failures of Lance into ``CorruptionError``."""
    try:
        yield
    except foreign() as error:
        raise CorruptionError(
            f"table {pin.key} at version {pin.table_version} cannot be read: {error}",
            hint=verify_hint("lists missing files"),
            table=pin.key,
        ) from error


def find_ids(store: Store, pin: TablePin, ids: Iterable[str]) -> dict[str, int]:
    """Row addresses of the ids that exist."""
    wanted = list(dict.fromkeys(ids))
    if not wanted or pin.rows == 0:
        return {}
    dataset = store.open(pin.location, pin.lance_version)
    with _reading(pin):
        cached = store.keys.find(pin.location, dataset, wanted)
        if cached is not None:
            return cached
        is_scanned = len(wanted) > IDS_PER_FILTER_MAX and len(wanted) * SCANNED_SHARE > pin.rows
        return _scan_ids(dataset, wanted) if is_scanned else _filter_ids(dataset, wanted)


def find_ids_in(store: Store, pin: TablePin, fragments: Iterable[int], ids: Sequence[str]) -> dict[str, int]:
    """Row addresses of the ids that exist in small fragments."""
    wanted = set(fragments)
    chosen = [
        item for item in store.open(pin.location, pin.lance_version).get_fragments() if item.fragment_id in wanted
    ]
    with _reading(pin):
        return store.keys.find_in(pin.location, chosen, list(dict.fromkeys(ids)))


def _filter_ids(dataset: lance.LanceDataset, wanted: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(wanted), IDS_PER_FILTER_MAX):
        part = wanted[start : start + IDS_PER_FILTER_MAX]
        table = dataset.scanner(columns=["id"], filter=ids_filter("id", part), with_row_address=True).to_table()
        found.update(zip(table.column("id").to_pylist(), table.column("_rowaddr").to_pylist(), strict=True))
    return found


def _scan_ids(dataset: lance.LanceDataset, wanted: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    ids = pa.array(wanted, pa.string())
    for batch in dataset.scanner(columns=["id"], with_row_address=True).to_batches():
        kept = batch.filter(pc.is_in(batch.column("id"), value_set=ids))
        found.update(zip(kept.column("id").to_pylist(), kept.column("_rowaddr").to_pylist(), strict=True))
    return found


def rows_with(
    store: Store, pin: TablePin, column: str, values: Sequence[str] | None, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows whose text column holds one of the values, or all rows. Recently written rows come from the cache."""
    if pin.rows == 0:
        return
    wanted = None if values is None else pa.array(values, pa.string())
    fragments = []
    dataset = store.open(pin.location, pin.lance_version)
    numbers = column_numbers(dataset)
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        known = store.recent.of(pin.location, metadata, numbers)
        if known is None or metadata.deletion_file is not None:
            fragments.append(fragment)
        else:
            yield from _among(known, column, wanted, columns).to_batches()
    if fragments:
        with _reading(pin):
            yield from _stored_rows_with(store, pin, fragments, column, values, columns)


def _stored_rows_with(
    store: Store,
    pin: TablePin,
    fragments: list[lance.LanceFragment],
    column: str,
    values: Sequence[str] | None,
    columns: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    dataset = store.open(pin.location, pin.lance_version)
    if values is None or len(values) <= IDS_PER_FILTER_MAX:
        where = None if values is None else ids_filter(column, values)
        yield from dataset.scanner(columns=list(columns), filter=where, fragments=fragments).to_batches()
        return
    names = list(dict.fromkeys([*columns, column]))
    wanted = pa.array(values, pa.string())
    for batch in dataset.scanner(columns=names, fragments=fragments).to_batches():
        yield from _among(pa.Table.from_batches([batch]), column, wanted, columns).to_batches()


def rows_with_ids(
    store: Store, pin: TablePin, column: str, values: Sequence[str], columns: Sequence[str]
) -> dict[str, pa.Array]:
    """Text columns and the addresses of the rows whose text column holds one of the values."""
    dataset = store.open(pin.location, pin.lance_version)
    names = [*columns, "_rowaddr"]
    batches: list[pa.RecordBatch] = []
    with _reading(pin):
        for start in range(0, len(values), IDS_PER_FILTER_MAX):
            where = ids_filter(column, values[start : start + IDS_PER_FILTER_MAX])
            scanner = dataset.scanner(columns=list(columns), filter=where, with_row_address=True)
            batches.extend(batch.select(names) for batch in scanner.to_batches())
    types = {name: pa.uint64() if name == "_rowaddr" else pa.string() for name in names}
    return {
        name: pa.concat_arrays([pa.array([], type_), *(batch.column(name) for batch in batches)])
        for name, type_ in types.items()
    }


def _among(rows: pa.Table, column: str, wanted: pa.Array | None, columns: Sequence[str]) -> pa.Table:
    matching = rows if wanted is None else rows.filter(pc.is_in(rows.column(column), value_set=wanted))
    return matching.select(list(columns))


def take_rows(
    store: Store, pin: TablePin, positions: npt.NDArray[np.int64], names: Sequence[str]
) -> dict[str, pa.Array]:
    """Columns at positions among the live rows of the version, in that order."""
    dataset = store.open(pin.location, pin.lance_version)
    if not len(positions):
        return {name: pa.array([], dataset.schema.field(name).type) for name in names}
    with _reading(pin):
        taken = take(store, pin, positions, names).combine_chunks()
    return {name: taken.column(name).chunk(0) for name in names}


def matching_rows(store: Store, pin: TablePin, comparison: Comparison) -> npt.NDArray[np.uint64]:
    """Addresses of the rows that satisfy a comparison, by a full scan.

    Many rows may satisfy it, and for more than one in twenty an index is slower.
    """
    batches = list(scan(store, pin, [], comparison, with_address=True, use_index=False))
    found = [batch.column("_rowaddr").to_numpy() for batch in batches]
    return np.concatenate(found) if found else np.zeros(0, np.uint64)
