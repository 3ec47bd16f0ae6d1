"""Records of rows that the tasks of a load have written, for the file of rejected rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.rejected.records import record_of
from omnigraph.spark.load.frame_slices import Numbering
from omnigraph.spark.load.input import LoadInput, RowLines
from omnigraph.spark.load.slices import InputSlice
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


def frame_records(
    whole: LoadInput, wanted: Mapping[int, Sequence[int]], ids_given: Sequence[bool]
) -> Mapping[int, Mapping[int, object]]:
    """Records of rows of frames, by slice and line in it. A slice of a frame has rows of one type.

    ``ids_given`` tells for every slice if its rows came with ids.
    """
    found: dict[int, dict[int, object]] = {}
    for number, lines in wanted.items():
        input_slice = whole.slices[number]
        found[number] = {line: input_slice.records[line] for line in lines if line in input_slice.records}
        numbering = Numbering(input_slice)
        rows = {numbering.row(line): line for line in lines if line not in input_slice.records}
        for key in input_slice.tables if rows else ():
            stored = stored_records(whole, number, key, list(rows), with_id=ids_given[number])
            found[number] |= {rows[row]: record for row, record in stored.items()}
    return found


def frame_lines(slices: Sequence[InputSlice], wanted: Mapping[tuple[int, str], Sequence[int]]) -> RowLines:
    """Lines of rows of frames: every row that was not rejected was written, in order."""
    found = {}
    for (number, key), rows in wanted.items():
        numbering = Numbering(slices[number])
        found[number, key] = {row: numbering.line(row) for row in rows}
    return found
