"""CSV and TSV: every column as text, with the line of every record.

Arrow parses whole blocks, which is several times cheaper than any reader that types values; ``rows`` types them later,
so that "007" stays text for a String. Blocks that Arrow would read differently are read record by record, and a
malformed record is reported with its line. The first record holds the names of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.csv

from omnigraph.errors import InputError
from omnigraph.ingest.files.content import Content
from omnigraph.ingest.files.csv_records import Record, located_block, plain_block, records
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.limits import LINE_BYTES_MAX
from omnigraph.rows.typed_rows import PlacedBatch

_MARK: Final = b"\xef\xbb\xbf"
DELIMITERS: Final = (b",", b";", b"\t", b"|")
"""Delimiters of CSV files. A file has the one that occurs most often in its first line; of equals, the first."""


def open_csv(content: Content, report: Report) -> SourceTable:
    """Text with the delimiter that its header shows."""
    return open_delimited(content, report)


def open_tsv(content: Content, report: Report) -> SourceTable:
    """Text delimited by tabs."""
    return open_delimited(content, report, "\t")


def open_delimited(
    content: Content, report: Report, delimiter: str | None = None, *, has_header: bool = True
) -> SourceTable:
    """Text with a delimiter of one byte, by default the one that the first line shows.

    Without a header, columns are named by their positions: ``_c0``, ``_c1``.
    """
    check_text(content)
    reader = _Reader(content, report)
    header = reader.header(None if delimiter is None else delimiter.encode(), has_header=has_header)
    schema = pa.schema([(name, pa.utf8()) for name in header])
    line = reader.header_line if has_header else None
    return SourceTable(content.name, schema, reader.batches(schema), is_text=True, header_line=line)


def check_text(content: Content) -> None:
    """Raise InputError for a file that is not text in UTF-8, as its first part shows."""
    head = content.head
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = f"convert it: iconv -f UTF-16 -t UTF-8 {content.name} > utf8.csv"
        raise InputError(f"{content.name} is UTF-16; text has to be UTF-8", hint=hint, path=content.name)
    if b"\0" in head:
        raise InputError(
            f"{content.name} is not text: it holds a zero byte at byte {head.index(0) + 1}",
            hint="name the format of the file, such as parquet or arrow, if its name ends in the wrong suffix",
            path=content.name,
        )


def delimiter_of(header: bytes) -> bytes:
    """The delimiter that occurs most often in a header, outside quotes; a comma if there is none."""
    bare = re.sub(rb'"[^"]*"', b"", header)
    return max(DELIMITERS, key=bare.count)


class _Reader:
    """Reads the records of one file in order. ``_data`` begins with a record, at ``_line``."""

    def __init__(self, content: Content, report: Report) -> None:
        self._content = content
        self._report = report
        self._chunks = content.chunks()
        self._data = next(self._chunks, b"").removeprefix(_MARK)
        self._is_last = False
        self._line = 1
        self._delimiter = b","
        self.header_line = 1

    def header(self, delimiter: bytes | None, *, has_header: bool = True) -> list[str]:
        """The names of the columns; a column without one is named by its position, as in ``column3``."""
        found = self._first(delimiter)
        while found is None and self._more():
            found = self._first(delimiter)
        if found is None:
            raise InputError(
                f"{self._content.name} is empty",
                hint="the first line of a CSV file holds the names of its columns",
                path=self._content.name,
            )
        if found.problem is not None:
            raise InputError(f"{self._content.name}:{found.line}: {found.problem}", path=self._content.name)
        if not has_header:
            return [f"_c{number}" for number in range(len(found.fields))]
        self.header_line = found.line
        self._pass(found.end, found.line + found.lines - self._line)
        names = [self._text(field or b"", found.line).strip() for field in found.fields]
        return [name or f"column{number}" for number, name in enumerate(names, 1)]

    def _first(self, delimiter: bytes | None) -> Record | None:
        """The first record that is not blank, if it is complete in the data."""
        self._delimiter = delimiter or delimiter_of(self._data.lstrip().partition(b"\n")[0])
        found = records(self._data, self._delimiter, self._line, is_last=self._is_last)
        return next((record for record in found if not is_blank(record)), None)

    def batches(self, schema: pa.Schema) -> Iterator[PlacedBatch]:
        """The records behind the header, a batch for each block."""
        while True:
            placed = self._next(schema)
            if placed is not None:
                yield placed
            elif not self._more():
                return

    def _next(self, schema: pa.Schema) -> PlacedBatch | None:
        """The records that are complete in the data; None if more data is needed."""
        block = plain_block(self._data, self._delimiter, self._line, is_last=self._is_last)
        if block is not None and block.end:
            batch = self._parsed(memoryview(self._data)[: block.end], schema)
            if batch is not None and batch.num_rows < len(block.record_lines):
                block = located_block(self._data, self._delimiter, self._line, is_last=self._is_last)
            if batch is not None and block is not None and batch.num_rows == len(block.record_lines):
                self._pass(block.end, block.lines)
                return PlacedBatch(batch, block.record_lines)
        if block is None or block.end:
            placed = self._exact(schema)
            if placed is not None:
                return placed
        if len(self._data) > LINE_BYTES_MAX:
            self._skip_long()
        return None

    def _parsed(self, data: memoryview, schema: pa.Schema) -> pa.RecordBatch | None:
        """A block as columns; None if a record has another number of fields, or text is not UTF-8."""
        positions = [str(number) for number in range(len(schema))]
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(pa.py_buffer(data)),
                pa.csv.ReadOptions(column_names=positions, use_threads=False, block_size=len(data) + 1),
                pa.csv.ParseOptions(delimiter=self._delimiter.decode(), newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(positions, pa.utf8()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        return pa.RecordBatch.from_arrays([_whole(column) for column in table.columns], schema=schema)

    def _exact(self, schema: pa.Schema) -> PlacedBatch | None:
        """The records of the data one at a time; malformed ones are reported and left out."""
        columns: list[list[str | None]] = [[] for _ in schema]
        lines: list[int] = []
        end, line = 0, self._line
        for record in records(self._data, self._delimiter, self._line, is_last=self._is_last):
            problem = record.problem or _wrong_count(record, schema)
            if problem is not None:
                self._report(record.line, problem)
            elif not is_blank(record):
                lines.append(record.line)
                for column, field in zip(columns, record.fields, strict=True):
                    column.append(None if field is None else self._text(field, record.line))
            end, line = record.end, record.line + record.lines
        if not end:
            return None
        self._pass(end, line - self._line)
        arrays = [pa.array(column, pa.utf8()) for column in columns]
        return PlacedBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), pa.array(lines, pa.int64()))

    def _skip_long(self) -> None:
        """Leave out a record that is longer than the limit: a quote that is never closed takes the rest of a file."""
        record = next(records(self._data, self._delimiter, self._line, is_last=True))
        self._report(record.line, record.problem or f"the record is longer than {LINE_BYTES_MAX} bytes")
        self._pass(record.end, record.lines)

    def _text(self, field: bytes, line: int) -> str:
        try:
            return field.decode()
        except UnicodeDecodeError as problem:
            raise InputError(
                f"{self._content.name}:{line}: byte 0x{field[problem.start]:02x} is not UTF-8",
                hint=f"convert the file, for example: iconv -f LATIN1 -t UTF-8 {self._content.name} > utf8.csv",
                path=self._content.name,
                line=line,
            ) from None

    def _pass(self, end: int, lines: int) -> None:
        self._data, self._line = self._data[end:], self._line + lines

    def _more(self) -> bool:
        """Read on; False if all data was read before. At the end the rest of the data is whole records."""
        if self._is_last:
            return False
        chunk = next(self._chunks, None)
        if chunk is None:
            self._is_last = True
        else:
            self._data += chunk
        return True


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_blank(record: Record) -> bool:
    """True for a line without text."""
    return len(record.fields) == 1 and not (record.fields[0] or b"").strip()


def _wrong_count(record: Record, schema: pa.Schema) -> str | None:
    given, wanted = len(record.fields), len(schema)
    if given == wanted or is_blank(record):
        return None
    fields = "1 field" if given == 1 else f"{given} fields"
    return f"{fields}, but the header names {wanted}"
