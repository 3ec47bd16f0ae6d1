"""Files of columns: Parquet, and Arrow's file, stream and Feather formats. A place is the row number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from omnigraph.errors import OmnigraphError
from omnigraph.ingest.files.content import Content
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.limits import BATCH_ROWS
from omnigraph.rows.typed_rows import numbered

FILE_MARK: Final = b"ARROW1"


def open_parquet(content: Content, _: Report) -> SourceTable:
    """A Parquet file, by batches of its row groups."""
    import pyarrow.parquet as pq

    with _translated(content, "Parquet"):
        # Reading ahead saves requests to a bucket; on a disk it costs memory and half as much again in time.
        file = pq.ParquetFile(content.random_access(), pre_buffer=content.is_remote)
        # The writer is busy with the batch before, so threads for the next one only cost processor time.
        batches = file.iter_batches(BATCH_ROWS, use_threads=False)
        return SourceTable(content.name, file.schema_arrow, numbered(_guarded(content, "Parquet", batches)))


def open_arrow(content: Content, _: Report) -> SourceTable:
    """An Arrow file or stream; Feather of version 2 is an Arrow file."""
    with _translated(content, "Arrow"):
        if content.head.startswith(FILE_MARK):
            file = pa.ipc.open_file(content.random_access())
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            return SourceTable(content.name, file.schema, numbered(_guarded(content, "Arrow", batches)))
        stream = pa.ipc.open_stream(content.stream())
        return SourceTable(content.name, stream.schema, numbered(_guarded(content, "Arrow", iter(stream))))


def _guarded(content: Content, kind: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _translated(content, kind):
        yield from batches


@contextmanager
def _translated(content: Content, kind: str) -> Iterator[None]:
    try:
        yield
    except OmnigraphError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise content.broken(f"it is not a complete {kind} file ({str(error).partition(chr(10))[0]})") from error
