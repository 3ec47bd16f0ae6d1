"""Lance tables at a pin, and the choice between them and external tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import lance
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.tables.filters import RowFilter, filter_sql, ids_filter
from omnigraph.storage.tables.key_cache import fragment_key
from omnigraph.storage.tables.port import PinnedTable, ScanOptions, TableFragment, external_table
from omnigraph.storage.tables.row_layout import Fragment, Rows
from omnigraph.storage.tables.rows_by_position import deleted_offsets, take
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import ColumnNumbers, column_numbers

IDS_PER_FILTER_MAX = 2_000
"""Ids in one filter: an ``in`` list costs some 40 us a key, and its text must stay reasonable."""

SCANNED_SHARE = 250
"""Several filters of ids are replaced by one scan of the id column if more than one row in this many is wanted."""


def open_table(store: Store, pin: TablePin) -> PinnedTable:
    """The table at a pin."""
    return external_table(store, pin) if pin.is_external else LanceTable(store, pin)


@contextmanager
def reading(pin: TablePin) -> Iterator[None]:
    """Translate failures of Lance into ``CorruptionError``."""
    try:
        yield
    except foreign() as error:
        raise CorruptionError(
            f"table {pin.key} at version {pin.table_version} cannot be read: {error}",
            hint=verify_hint("lists missing files"),
            table=pin.key,
        ) from error


@dataclass(frozen=True, slots=True)
class LanceTable:
    """A table of the graph. The store caches its open versions, so making this value costs nothing."""

    store: Store
    pin: TablePin

    @property
    def _dataset(self) -> lance.LanceDataset:
        """For what the manifest says; data is read through ``_readable``."""
        return self.store.open_pin(self.pin)

    @property
    def _readable(self) -> lance.LanceDataset:
        return self.store.open_to_read(self.pin)

    @property
    def schema(self) -> pa.Schema:
        return self._dataset.schema

    @property
    def numbers(self) -> Mapping[str, int]:
        return dict(column_numbers(self._dataset))

    def fragments(self) -> list[TableFragment]:
        """Reads only the manifest."""
        return [self._fragment(item) for item in self._dataset.get_fragments()]

    def _fragment(self, item: lance.LanceFragment) -> TableFragment:
        metadata = item.metadata
        data, deletions = fragment_key(self.pin.location, metadata)
        return TableFragment(
            metadata.id,
            data,
            deletions,
            metadata.physical_rows,
            metadata.num_rows,
            partial(self._dead, item),
            frozenset(number for file in metadata.files for number in file.fields),
        )

    def _dead(self, item: lance.LanceFragment) -> Rows:
        if item.metadata.deletion_file is not None:
            # A small version is fetched with its deletion files.
            item = _numbered(self._readable, item.fragment_id)
        return deleted_offsets(self.store, self.pin.location, item)

    def scan(
        self, columns: Sequence[str] | None, where: RowFilter | None, options: ScanOptions
    ) -> Iterator[pa.RecordBatch]:
        dataset, chosen = self._readable, options.fragments
        scanner = dataset.scanner(
            columns=None if columns is None else list(columns),
            filter=None if where is None else filter_sql(where),
            with_row_address=options.with_address,
            batch_size=options.batch_rows,
            blob_handling="all_binary" if options.blobs_as_bytes else None,
            io_buffer_size=options.ahead_bytes,
            use_scalar_index=options.use_index,
            fragments=None if chosen is None else [_numbered(dataset, number) for number in chosen],
        )
        with reading(self.pin):
            yield from scanner.to_batches()

    def find_ids(self, ids: Sequence[str], fragments: Collection[int] | None) -> Mapping[str, int]:
        dataset, keys = self._dataset, self.store.keys
        with reading(self.pin):
            if fragments is not None:
                chosen = [item for item in dataset.get_fragments() if item.fragment_id in fragments]
                return keys.find_in(self.pin.location, chosen, list(ids), lambda: self._readable)
            # The pin knows its rows; counting them would wait for a thread of Lance.
            cached = keys.find(self.pin.location, dataset, self.pin.rows, ids, lambda: self._readable)
            if cached is not None:
                return cached
            is_scanned = len(ids) > IDS_PER_FILTER_MAX and len(ids) * SCANNED_SHARE > self.pin.rows
            return self._scanned_ids(ids) if is_scanned else self._filtered_ids(ids)

    def _filtered_ids(self, wanted: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for start in range(0, len(wanted), IDS_PER_FILTER_MAX):
            where = ids_filter("id", wanted[start : start + IDS_PER_FILTER_MAX])
            table = self._readable.scanner(columns=["id"], filter=where, with_row_address=True).to_table()
            found.update(zip(table.column("id").to_pylist(), table.column("_rowaddr").to_pylist(), strict=True))
        return found

    def _scanned_ids(self, wanted: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        ids = pa.array(wanted, pa.string())
        for batch in self._readable.scanner(columns=["id"], with_row_address=True).to_batches():
            kept = batch.filter(pc.is_in(batch.column("id"), value_set=ids))
            found.update(zip(kept.column("id").to_pylist(), kept.column("_rowaddr").to_pylist(), strict=True))
        return found

    def rows_with(self, column: str, values: Sequence[str] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Recently written rows come from the cache."""
        wanted = None if values is None else pa.array(values, pa.string())
        dataset, fragments = self._dataset, []
        numbers = column_numbers(dataset)
        for fragment in dataset.get_fragments():
            metadata = fragment.metadata
            known = self.store.recent.of(self.pin.location, metadata, numbers)
            if known is None or metadata.deletion_file is not None:
                fragments.append(fragment)
            else:
                yield from _among(known, column, wanted, columns).to_batches()
        if fragments:
            with reading(self.pin):
                yield from self._stored_rows_with(fragments, column, values, columns)

    def _stored_rows_with(
        self, fragments: list[lance.LanceFragment], column: str, values: Sequence[str] | None, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        dataset = self._readable
        fragments = [_numbered(dataset, fragment.fragment_id) for fragment in fragments]
        if values is None or len(values) <= IDS_PER_FILTER_MAX:
            where = None if values is None else ids_filter(column, values)
            yield from dataset.scanner(columns=list(columns), filter=where, fragments=fragments).to_batches()
            return
        names = list(dict.fromkeys([*columns, column]))
        wanted = pa.array(values, pa.string())
        for batch in dataset.scanner(columns=names, fragments=fragments).to_batches():
            yield from _among(pa.Table.from_batches([batch]), column, wanted, columns).to_batches()

    def take(self, positions: Rows, names: Sequence[str]) -> pa.Table:
        """Blobs come as Lance describes them."""
        with reading(self.pin):
            return take(self.store, self.pin, positions, names)

    def column(self, parts: Sequence[Fragment], name: str) -> pa.Array:
        """Recently written values come from the cache."""
        layout = self.store.layouts.get((self.pin.location, self.pin.lance_version))
        numbers = column_numbers(self._dataset) if layout is None else layout.numbers
        remembered = [_remembered(self.store, part, numbers, name) for part in parts]
        if all(piece is not None for piece in remembered):
            return pa.concat_arrays(remembered)
        dataset, wanted = self._readable, {part.fragment for part in parts}
        fragments = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in wanted]
        with translated(f"column {name} of {self.pin.key} cannot be read", table=self.pin.key):
            # Lance returns deleted rows only together with row ids.
            table = dataset.scanner(
                columns=[name], fragments=fragments, include_deleted_rows=True, with_row_id=True
            ).to_table()
        return table.column(name).combine_chunks()


def _numbered(dataset: lance.LanceDataset, number: int) -> lance.LanceFragment:
    fragment = dataset.get_fragment(number)
    assert fragment is not None, "fragment numbers come from this very version"
    return fragment


def _among(rows: pa.Table, column: str, wanted: pa.Array | None, columns: Sequence[str]) -> pa.Table:
    matching = rows if wanted is None else rows.filter(pc.is_in(rows.column(column), value_set=wanted))
    return matching.select(list(columns))


def _remembered(store: Store, part: Fragment, numbers: ColumnNumbers, name: str) -> pa.Array | None:
    directory, _, file = part.data.rpartition("/")
    rows = store.recent.get(f"{directory}/data/{file}", numbers)
    return None if rows is None or name not in rows.schema.names else rows.column(name).combine_chunks()
