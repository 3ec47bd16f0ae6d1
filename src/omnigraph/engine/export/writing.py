"""Writing the rows of one type to an open file, batch by batch, with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

from omnigraph.core.actors import Action
from omnigraph.engine.export.counting import CountingFile
from omnigraph.engine.export.formats import ExportSettings, FileContent
from omnigraph.engine.export.origin import Origin
from omnigraph.engine.export.result import ExportedFile
from omnigraph.engine.snapshot import Snapshot
from omnigraph.rows.arrow_types import Entity, row_bytes
from omnigraph.rows.limits import BATCH_BYTES, BATCH_ROWS

AHEAD_BYTES = 64 * 1024 * 1024
"""Read-ahead of a table in bytes: enough for a disk or a bucket, and no more than a few batches."""

Progress = Callable[[int], None]
"""Callback with the number of entities written so far."""


@dataclass(frozen=True, slots=True)
class TypeRows:
    """The rows of a type, or of some fragments of its table, in storage order. Pickled to executors."""

    snapshot: Snapshot
    entity: Entity
    origin: Origin
    fragments: tuple[int, ...] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns in the order of the schema text, without the metadata of storage, but with the origin."""
        fields = [field.remove_metadata() for field in self.snapshot.table_schema(self.entity)]
        return pa.schema(fields, self.origin.facts(self.entity))

    @contextmanager
    def batches(self, progress: Progress | None = None) -> Iterator[CountedRows]:
        """The rows while they are read."""
        self.snapshot.require(Action.EXPORT)
        with self.snapshot.reading():
            names = self.snapshot.column_order(self.entity)
            batches = self.snapshot.scanned(
                self.entity,
                names,
                batch_rows=_batch_rows(self.entity),
                ahead_bytes=AHEAD_BYTES,
                fragments=self.fragments,
            )
            yield CountedRows((batch.select(names) for batch in batches), progress)


def write_rows(
    rows: TypeRows, settings: ExportSettings, file: BinaryIO, path: str, progress: Progress | None = None
) -> ExportedFile:
    """Write rows to a file. ``path`` is its name in the result."""
    assert settings.format.write is not None, "tables are written by engine.export.tables"
    with rows.batches(progress) as batches:
        counted = CountingFile(file)
        content = FileContent(rows.entity, rows.schema, batches, rows.snapshot.store.tuning.row_group_bytes)
        settings.format.write(cast(BinaryIO, counted), content, settings.form)
    return ExportedFile(path, rows.entity.name, batches.rows, counted.position)


@dataclass
class CountedRows:
    """Batches that count their rows once they are written."""

    batches: Iterator[pa.RecordBatch]
    progress: Progress | None
    rows: int = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.batches:
            yield batch
            self.rows += batch.num_rows
            if self.progress is not None:
                self.progress(self.rows)


def _batch_rows(entity: Entity) -> int:
    """Rows read together, so that a batch of wide rows (vectors, blobs) fits into memory."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES // row_bytes(entity)))
