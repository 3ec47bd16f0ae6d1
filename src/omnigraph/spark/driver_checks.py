"""The checks over several rows, by the driver alone: the embedded ones, over the fragments that tasks wrote.

The key columns of the input are read back into the key database of the embedded load, which is bounded by disk. Up to
many millions of rows that is several times faster than any job, and it needs no session.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.engine.loading import LoadJob
from omnigraph.manifest.publisher import Published
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import unique_columns
from omnigraph.rows.violations import Place, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.input import LoadInput
from omnigraph.storage.tables import scan
from omnigraph.write.bulk_checks import settle_duplicates
from omnigraph.write.bulk_keys import InputKeys, open_keys
from omnigraph.write.bulk_load import BulkInput, publish_bulk
from omnigraph.write.violations import violation_error


class PartKeys(InputKeys):
    """Keys of an input that tasks wrote. Its sources are tables, and its lines addresses in them."""

    def __init__(self, connection: Any, whole: LoadInput) -> None:
        super().__init__(connection)
        self._whole = whole

    def place(self, source: int, line: int) -> Place:
        return self._whole.places(self.sources[source], [line])[line]


def publish_checked(job: LoadJob, whole: LoadInput) -> Published:
    """Check the input, and make it one commit."""
    with open_keys(lambda connection: PartKeys(connection, whole)) as keys:
        for key, table in whole.tables.items():
            number = keys.source(key)
            for batch in scan(whole.store, table.pin, _key_columns(table.entity), with_address=True):
                addresses = batch.column("_rowaddr").cast(pa.int64())
                keys.add(table.entity, [(number, TypedRows(table.entity, batch, addresses))])
        bulk = BulkInput(keys, {key: table.written for key, table in whole.tables.items()}, whole.mode)
        violations = Violations()
        settle_duplicates(keys, whole.mode, violations)
        if violations.total:
            raise violation_error(violations)
        try:
            published = publish_bulk(job.context, job.incarnation, bulk, job.info, job.options)
        finally:
            whole.is_handed_over = bulk.is_handed_over
        for key, rows in bulk.counts().items():
            whole.tables[key].rows_brought = rows
        return published


def _key_columns(entity: Entity) -> list[str]:
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    unique = (column for columns in unique_columns(entity) for column in columns)
    return list(dict.fromkeys([ID, *ends, *unique]))
