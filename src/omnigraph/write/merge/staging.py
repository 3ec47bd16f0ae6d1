"""Staging of a merged table: rows with the bytes of their blobs, and addresses of rows to delete."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import column_blobs, flat
from omnigraph.core.tables import TablePin
from omnigraph.history.plan import WriteMode
from omnigraph.rows.arrow_types import table_schema
from omnigraph.storage.stage.staging import write_rows
from omnigraph.storage.tables.difference import ADDRESS, addresses_in
from omnigraph.storage.tables.scan import find_ids
from omnigraph.write.merge.images import PLACED_BLOB, Sides
from omnigraph.write.merge.table import TableMerge
from omnigraph.write.staging import StagedTable, assemble_version, write_version


def write_merged(table: Sides, pin: TablePin, merge: TableMerge, counts: tuple[int, int, int]) -> StagedTable:
    """Write a merged table on top of the version it stands on."""
    removed = _gone_addresses(table, pin, merge)
    rows = with_bytes(table, merge.rows)
    if merge.remote is None:
        return write_version(table.store, pin, WriteMode.MERGE, rows, removed, counts)
    written = merge.remote.parts.write(merge.remote.taken)
    if rows.num_rows:
        base = table.store.open(pin.location, pin.lance_version)
        written.append(write_rows(table.store, base, pin.location, rows))
    return assemble_version(table.store, pin, WriteMode.MERGE, written, removed, counts)


def _gone_addresses(table: Sides, pin: TablePin, merge: TableMerge) -> set[int]:
    """Addresses of deleted and replaced rows in the version that the table stands on."""
    _, target, base = table.pins
    gone = set(find_ids(table.store, pin, merge.also_gone).values())
    for version, rows in ((base, merge.gone_from_base), (target, merge.gone_from_target)):
        if rows.num_rows:
            assert version is not None, "rows come from a table"
            gone.update(addresses_in(table.store, version, pin, flat(rows, "id"), flat(rows, ADDRESS)).to_pylist())
    return gone


def with_bytes(table: Sides, rows: pa.Table) -> pa.Table:
    """Merged rows in the stored form: blobs with their bytes."""
    schema = table_schema(table.entity)
    columns = [
        _bytes(table, rows, field.name) if item.type == PLACED_BLOB else rows.column(field.name)
        for field, item in zip(schema, rows.schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def _bytes(table: Sides, rows: pa.Table, name: str) -> pa.Array:
    column = flat(rows, name)
    values: list[bytes | None] = [None] * len(column)
    for side, pin in enumerate(table.pins):
        places = pc.indices_nonzero(pc.fill_null(pc.equal(pc.struct_field(column, "side"), side), False))
        if len(places):
            assert pin is not None, "rows come from a table"
            addresses = pc.struct_field(column, "address").take(places)
            found = column_blobs(table.store, table.entity, pin, name, addresses)
            for row, value in zip(places.to_pylist(), found.to_pylist(), strict=True):
                values[row] = value
    return pa.array(values, pa.large_binary())
