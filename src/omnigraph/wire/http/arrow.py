"""Rows as an Arrow stream, made batch by batch."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

ARROW: Final = "application/vnd.apache.arrow.stream"


def arrow_chunks(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """The stream of some batches. The end mark comes last, so a reader notices a stream that was cut off."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content
