"""JSON lines, or the same records as Python dicts, to typed rows.

The reader is strict: one object per line, no unknown or duplicate keys, every value fits its type. Every problem is a
violation with its line; the row is skipped and reading continues. Memory is bounded by a block of lines and a limited
number of unfinished batches, independent of the size of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from omnigraph.rows.limits import BATCH_ROWS, LINE_BYTES_MAX, RECORDS_PER_BLOCK
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.json_columns import ColumnarReader, NumberedLine
from omnigraph.rows.read.json_lines import Malformed, blocks, is_blank, parse_line
from omnigraph.rows.read.json_records import RecordReader
from omnigraph.rows.read.minting import MintIds
from omnigraph.rows.typed_rows import Gathering, TypedRows, in_line_order, joined
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, all_types


def read_lines(
    chunks: Iterable[bytes],
    *,
    catalog: Catalog,
    source: str,
    mint_ids: MintIds,
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
    is_start: bool = True,
    omissions: Omissions = Omissions.IGNORED,
) -> Iterator[TypedRows]:
    """Typed rows of a stream of JSON lines, in chunks of any size; an open binary file is such a stream.

    ``is_start``: the stream begins at the start of its file. Lines are counted from 1 in either case.
    """
    reader = RecordReader(catalog, source, mint_ids, violations, omissions)
    columns = ColumnarReader(catalog, mint_ids, omissions)
    gathering = Gathering(batch_rows)
    keeps_digits = _holds_digits(catalog)

    def too_long(line: int) -> None:
        reader.malformed(f"the line is longer than {LINE_BYTES_MAX} bytes", line)

    for block in blocks(chunks, too_long, is_start=is_start):
        pieces, unjudged = columns.read(block)
        for piece in _in_order(pieces, _read_exactly(unjudged, reader, keeps_digits=keeps_digits)):
            yield from gathering.add(piece)
    yield from gathering.rest()


def read_objects(
    records: Iterable[Mapping[str, object]],
    *,
    catalog: Catalog,
    source: str,
    mint_ids: MintIds,
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
    omissions: Omissions = Omissions.IGNORED,
) -> Iterator[TypedRows]:
    """Rows of records in the shape of JSON lines, as Python dicts; a place is the number of the record.

    Python's dates, times and bytes are accepted as values.
    """
    reader = RecordReader(catalog, source, mint_ids, violations, omissions)
    gathering = Gathering(batch_rows)
    numbered = enumerate(records, 1)
    while part := list(islice(numbered, RECORDS_PER_BLOCK)):
        for number, record in part:
            reader.read(record, number)
        for piece in reader.take():
            yield from gathering.add(piece)
    yield from gathering.rest()


def _holds_digits(catalog: Catalog) -> bool:
    """True if a property holds more digits than a float."""
    return any(
        prop.type.digits is not None or prop.type.is_json
        for entity in all_types(catalog)
        for prop in entity.properties.values()
    )


def _read_exactly(lines: Iterable[NumberedLine], reader: RecordReader, *, keeps_digits: bool) -> list[TypedRows]:
    for number, line in lines:
        if is_blank(line):
            continue
        try:
            record = parse_line(line, keeps_digits=keeps_digits)
        except Malformed as problem:
            reader.malformed(str(problem), number)
        else:
            reader.read(record, number)
    return reader.take()


def _in_order(fast: list[TypedRows], exact: list[TypedRows]) -> Iterator[TypedRows]:
    """The rows of a block by type, in line order within a type: of equal ids the later row may win."""
    slow = {piece.table_key: piece for piece in exact}
    for piece in fast:
        other = slow.pop(piece.table_key, None)
        yield piece if other is None else in_line_order(joined([piece, other]))
    yield from slow.values()
