"""Records of rows that the tasks of a load have written, for the file of rejected rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.rejected.records import record_of
from omnigraph.spark.load.input import LoadInput
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import scan


def stored_records(
    whole: LoadInput, number: int, key: str, rows: Sequence[int], *, with_id: bool
) -> dict[int, dict[str, Any]]:
    """Records of rows of a slice, read from the written fragments."""
    table = whole.tables[key]
    addresses = dict(zip(whole.addresses(number, key, rows), rows, strict=True))
    fragments = sorted({address >> OFFSET_BITS for address in addresses})
    names = table_schema(table.entity).names
    wanted = pa.array(list(addresses), pa.uint64())
    found = {}
    for batch in scan(
        whole.store, table.complete_pin, names, blobs_as_bytes=True, with_address=True, fragments=fragments
    ):
        chosen = batch.filter(pc.is_in(batch.column("_rowaddr"), wanted))
        for place, address in enumerate(chosen.column("_rowaddr").to_pylist()):
            row = chosen.select(names).slice(place, 1)
            found[addresses[address]] = record_of(table.entity, row, with_id=with_id)
    return found
