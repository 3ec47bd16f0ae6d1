"""Writing Parquet, in row groups large enough to scan well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.engine.export.counting import CountingFile

COMPRESSION = "zstd"
"""Smaller than the default of Arrow at the same speed, and read by all tools."""

GROUP_ROWS = 1024 * 1024
"""Maximum number of rows in a row group: the default of Arrow."""


def write_groups(
    file: BinaryIO, schema: pa.Schema, groups: Iterable[pa.Table], bytes_max: float = math.inf
) -> tuple[int, pq.FileMetaData]:
    """Write row groups, cast to a schema, until the file has about ``bytes_max``; returns its size and footer."""
    counted = CountingFile(file)
    with pq.ParquetWriter(cast(BinaryIO, counted), schema, compression=COMPRESSION) as writer:
        for group in groups:
            arrays = [group.column(field.name).cast(field.type) for field in schema]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=GROUP_ROWS)
            if counted.position >= bytes_max:
                break
    return counted.position, writer.writer.metadata


def row_groups(batches: Iterable[pa.RecordBatch], bytes_max: int) -> Iterator[pa.Table]:
    """Batches gathered to row groups of about ``bytes_max``."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= bytes_max:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
