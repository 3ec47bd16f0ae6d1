"""Cross-row checks of a load on the driver: those of the embedded load, over the fragments that tasks wrote.

The driver reads the key columns of the input into the key database of the embedded load, which is bounded by disk. For
many millions of rows this is several times faster than Spark jobs, and it needs no session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.engine.load.run import LoadJob
from omnigraph.manifest.queue import Published
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.ends.references import with_types
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import unique_columns
from omnigraph.rows.violations import Place
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.cluster import limits
from omnigraph.spark.load.checks.omitted_cells import OmittedCells
from omnigraph.spark.load.input import InputTable, LoadInput
from omnigraph.spark.load.rejects import Rejects, SliceRejects
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.write.attempt import CHECK
from omnigraph.write.limits import KEYS_AHEAD_BYTES
from omnigraph.write.load.bulk import finish_bulk
from omnigraph.write.load.bulk_plan import BulkInput
from omnigraph.write.load.checks import settle_duplicates
from omnigraph.write.load.id_order import IdOrder
from omnigraph.write.load.keys import InputKeys, Piece, open_keys
from omnigraph.write.load.reject.checks import Rejecting
from omnigraph.write.preview import Previewed


class SliceKeys(InputKeys):
    """Keys of an input that tasks wrote. Its sources are input tables, and its lines are row addresses in them."""

    def __init__(self, connection: Any, whole: LoadInput, *, is_located: bool = True) -> None:
        super().__init__(connection, grouped_rows=whole.store.tuning.grouped_rows)
        self._whole = whole
        self._is_located = is_located
        """True for places in the sources. Otherwise a place is a table and an address, which needs no lookup."""

    def place(self, source: int, line: int) -> Place:
        if not self._is_located:
            return super().place(source, line)
        return self._whole.places(self.sources[source], [line])[line]


def publish_checked(job: LoadJob, whole: LoadInput, rejects: Rejects | None = None) -> Published | Previewed:
    """Check the input and publish it as one atomic commit; with ``rejects``, without its invalid rows."""
    with open_keys(lambda connection: SliceKeys(connection, whole, is_located=rejects is None)) as keys:
        with job.context.profiler.step(CHECK):
            _take(keys, whole)
        written = {key: table.written for key, table in whole.tables.items()}
        bulk = BulkInput(keys, written, whole.mode, whole.known_fence(job.since), noted=whole.noted)
        if rejects is None:
            with job.context.profiler.step(CHECK):
                # Reported with the violations of the graph, which are found next.
                settle_duplicates(keys, whole.mode, bulk.found)
        else:
            # Rejection is final, so the first check must not use a stale cached state.
            job.context.manifests.fresh(job.incarnation)
            bulk.set_aside = Rejecting(keys, whole.mode, SliceRejects(whole, rejects)).run
        try:
            finished = finish_bulk(job.context, job.incarnation, bulk, job.info, job.options, job.finish)
        finally:
            whole.is_handed_over = bulk.is_handed_over
            whole.cleared = bulk.cleared
        for key, rows in bulk.counts().items():
            whole.tables[key].rows_brought = rows
        return finished


def _take(keys: SliceKeys, whole: LoadInput) -> None:
    for key, table in whole.tables.items():
        read = partial(_keys, whole, table, keys.source(key))
        if whole.mode.is_partial:
            keys.add_all(table.entity, partial(read, _key_columns(table.entity)))
        else:
            # The fragments can be read again, so keys wait for a statement that needs them.
            is_distinct = table.ids is not None
            keys.add_later(table.entity, table.pin.rows, read, IdOrder(is_distinct, is_distinct))


def _keys(whole: LoadInput, table: InputTable, source: int, columns: Sequence[str]) -> Iterator[Piece]:
    """Scan key columns of the input. ``apart`` keeps their files, read once or twice, out of the caches of Lance."""
    store, names = whole.store, with_types(table.entity, columns)
    omitted = OmittedCells.of(whole, table)
    for fragments in fragment_groups(store, table.pin, store.tuning.partition_rows):
        for batch in scan(
            store.apart(),
            table.pin,
            names,
            with_address=True,
            batch_rows=limits.KEY_BATCH_ROWS,
            fragments=fragments,
            ahead_bytes=KEYS_AHEAD_BYTES,
        ):
            addresses = batch.column("_rowaddr")
            cells = omitted.at(addresses.to_numpy())
            yield source, TypedRows(table.entity, batch, addresses.cast(pa.int64()), omitted=cells)


def _key_columns(entity: Entity) -> list[str]:
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    unique = (column for columns in unique_columns(entity) for column in columns)
    return [ID, *ends, *unique]
