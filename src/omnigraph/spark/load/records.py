"""Rows as records, in the JSON form that loads read, so that rejected rows can be corrected and loaded again."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.json_values import MANAGED_BLOB
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.load.input import LoadInput
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import scan


def record_of(entity: Entity, row: pa.RecordBatch, *, with_id: bool = True) -> dict[str, Any]:
    """The record of one row, with values of any type: a wrong type may be the reason for its rejection."""
    given = {name: _value(row.column(name)[0]) for name in row.schema.names}
    if not with_id:
        given.pop(ID, None)
    if not isinstance(entity, EdgeType):
        return {"type": entity.name, "data": given}
    ends = {"from": given.pop(SRC, None), "to": given.pop(DST, None)}
    return {"edge": entity.name, **ends, "data": given}


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


def _value(given: pa.Scalar) -> object:
    try:
        return _plain(given.as_py())
    except (ValueError, OverflowError):
        return _unreadable(given)


def _unreadable(given: pa.Scalar) -> object:
    """A readable form of invalid UTF-8, and of times outside Python's range."""
    items = getattr(given, "values", None)
    if items is not None:
        return [_value(item) for item in items]
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        return given.as_buffer().to_pybytes().decode(errors="replace")
    return pa.array([given], given.type).cast(pa.utf8())[0].as_py()


def _plain(value: object) -> object:
    match value:
        case bytes():
            return MANAGED_BLOB + base64.b64encode(value).decode()
        case list():
            return [_plain(item) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
    return str(value)
