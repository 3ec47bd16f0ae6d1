"""Records of rows that a load has written, read from its fragments."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.rejected.records import record_of
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.discard import discard_version
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.bulk_images import stage_given


def stored_records(
    store: Store, pin: TablePin, entity: Entity, written: Sequence[staging.WrittenRows], rows: Collection[int]
) -> dict[int, dict[str, object]]:
    """Records by row number, counted through all fragments. The version that makes them readable is deleted again."""
    own, version = stage_given(store, pin, written)
    try:
        addresses = _addresses(store, own, rows)
        names = table_schema(entity).names
        wanted = pa.array(addresses, pa.uint64())
        fragments = sorted({address >> OFFSET_BITS for address in addresses})
        found = {}
        for batch in scan(store, own, names, blobs_as_bytes=True, with_address=True, fragments=fragments):
            chosen = batch.filter(pc.is_in(batch.column("_rowaddr"), wanted))
            for place, address in enumerate(chosen.column("_rowaddr").to_pylist()):
                found[addresses[address]] = record_of(entity, chosen.select(names).slice(place, 1))
        return found
    finally:
        discard_version(store, version)


def _addresses(store: Store, pin: TablePin, rows: Collection[int]) -> dict[int, int]:
    """Row numbers by address. With fragments 0 and 1 of 3 and 4 rows, row 4 is offset 1 of fragment 1."""
    found, start = {}, 0
    ordered = sorted(rows)
    for fragment in store.open(pin.location, pin.lance_version).get_fragments():
        end = start + fragment.physical_rows
        for row in (row for row in ordered if start <= row < end):
            found[fragment.fragment_id << OFFSET_BITS | (row - start)] = row
        start = end
    return found
