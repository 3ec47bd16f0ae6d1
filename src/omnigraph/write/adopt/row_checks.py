"""Checks of the rows that differ between a pin and a staged version: ids, keys and values."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import TableChanges, is_blob
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.storage.tables.scan import find_ids
from omnigraph.storage.tables.store import Store


def added_rows(changes: TableChanges) -> pa.Table:
    """The rows that are new or changed, with the columns of the type."""
    return pa.concat_tables([changes.inserted, changes.after]).select(table_schema(changes.entity).names)


def check_unique(store: Store, changes: TableChanges, before: TablePin, rows: int, violations: Violations) -> None:
    """Report ids that occur twice: among the new rows, or in a new row and a row that is still in the table.

    ``rows`` is the number of rows of the staged version.
    """
    entity = changes.entity
    ids = changes.inserted.column("id").drop_null()
    counted = pc.value_counts(ids)
    repeated = {item["values"] for item in counted.to_pylist() if item["counts"] > 1}
    # Rows of files that both versions share are not among the changes, so they are looked up.
    repeated |= set(find_ids(store, before, pc.unique(ids).to_pylist()))
    for id_ in sorted(repeated):
        message = f"{entity.name} '{id_}' is in the staged version twice"
        violations.add(Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_))
    if not repeated and before.rows + changes.inserted.num_rows - changes.deleted.num_rows != rows:
        message = f"an id of {entity.name} occurs twice in the staged version"
        violations.add(Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key))


def check_rows(changes: TableChanges, violations: Violations) -> None:
    """Report values that do not fit, and ids that are not those of their keys."""
    entity = changes.entity
    names = [field.name for field in table_schema(entity) if not is_blob(field)]
    blobs = [field.name for field in table_schema(entity) if is_blob(field)]
    rows = added_rows(changes)
    _check_blobs(entity, rows, violations)
    number = 0
    for batch in rows.select(names).to_batches():
        whole = _with_nulls(entity, batch, blobs)
        first = number

        def place(row: int, first: int = first) -> Place:
            return Place(f"<{entity.name}>", first + row + 1)

        check_values(entity, whole, place, violations, later=blobs)
        if entity.key:
            _check_ids(entity, whole, violations)
        number += batch.num_rows


def _check_blobs(entity: Entity, rows: pa.Table, violations: Violations) -> None:
    """Report rows without a required blob; other values are checked with their type."""
    for field in table_schema(entity):
        missing = rows.column(field.name).null_count
        if missing and not field.nullable and is_blob(field):
            message = f"{missing} rows of {entity.name} have no {field.name}"
            violations.add(Violation(ViolationCode.REQUIRED, message, entity.table_key, None, field.name))


def _check_ids(entity: Entity, batch: pa.RecordBatch, violations: Violations) -> None:
    derived = derived_ids(entity, batch)
    wrong = pc.fill_null(pc.not_equal(batch.column("id"), derived), True)
    for index in pc.indices_nonzero(wrong):
        row = index.as_py()
        given = batch.column("id")[row].as_py()
        message = f"the id {given!r} of {entity.name} is not the one of its key, {derived[row].as_py()!r}"
        violations.add(Violation(ViolationCode.KEY, message, entity.table_key, given, "id"))


def _with_nulls(entity: Entity, batch: pa.RecordBatch, blobs: list[str]) -> pa.RecordBatch:
    """The batch with empty blob columns: their bytes are not read, and nothing constrains them."""
    arrays = [
        pa.nulls(batch.num_rows, field.type) if field.name in blobs else batch.column(field.name)
        for field in table_schema(entity)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=table_schema(entity).names)
