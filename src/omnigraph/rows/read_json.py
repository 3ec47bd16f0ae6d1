"""JSON lines, or the same records as Python dicts, to typed rows.

The strict reader: one object per line, nothing unknown, nothing twice, every value fits its type. Every problem is a
violation with its line; the row is left out and reading goes on. Reading holds a block of lines and a bounded number
of unfinished batches, whatever the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from omnigraph.rows.json_lines import Block, Malformed, blocks, numbered_lines, parse_line
from omnigraph.rows.json_records import RecordReader
from omnigraph.rows.limits import BATCH_ROWS, LINE_BYTES_MAX, RECORDS_PER_BLOCK
from omnigraph.rows.typed_rows import Gathering, TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog


def read_lines(
    chunks: Iterable[bytes],
    *,
    catalog: Catalog,
    source: str,
    mint_id: Callable[[], str],
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[TypedRows]:
    """Rows of a stream of JSON lines, given in chunks of any size (an open binary file will do)."""
    reader = RecordReader(catalog, source, mint_id, violations)
    gathering = Gathering(batch_rows)

    def too_long(line: int) -> None:
        reader.malformed(f"the line is longer than {LINE_BYTES_MAX} bytes", line)

    for block in blocks(chunks, too_long):
        for piece in _read_exactly(block, reader):
            yield from gathering.add(piece)
    yield from gathering.rest()


def read_objects(
    records: Iterable[Mapping[str, object]],
    *,
    catalog: Catalog,
    source: str,
    mint_id: Callable[[], str],
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[TypedRows]:
    """Rows of records in the shape of JSON lines, as Python dicts; a place is the number of the record.

    Python's dates, times and bytes are accepted as values.
    """
    reader = RecordReader(catalog, source, mint_id, violations)
    gathering = Gathering(batch_rows)
    numbered = enumerate(records, 1)
    while part := list(islice(numbered, RECORDS_PER_BLOCK)):
        for number, record in part:
            reader.read(record, number)
        for piece in reader.take():
            yield from gathering.add(piece)
    yield from gathering.rest()


def _read_exactly(block: Block, reader: RecordReader) -> list[TypedRows]:
    for number, line in numbered_lines(block):
        try:
            record = parse_line(line)
        except Malformed as problem:
            reader.malformed(str(problem), number)
        else:
            reader.read(record, number)
    return reader.take()
