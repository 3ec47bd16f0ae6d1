"""JSON files as records, and as tables: JSON lines, and one array of objects.

Records keep the types of JSON; ``rows`` judges them. A table of records, for mappings and inferred schemas, has the
columns of all records: the file is read once for names and types, and once for values.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import pyarrow as pa

from omnigraph.ingest.files.content import READ_BYTES, Content
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.limits import LINE_BYTES_MAX, RECORDS_PER_BLOCK
from omnigraph.rows.read.json_lines import Malformed, blocks, is_blank, parse_at, parse_line
from omnigraph.rows.typed_rows import PlacedBatch

Numbered = tuple[int, object]
"""The line of a record, or its number in an array, and its decoded value."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_MARK: Final = b"\xef\xbb\xbf"
_INT64_BITS: Final = 64


def is_array(content: Content) -> bool:
    """True if the file begins with a bracket."""
    return content.head.removeprefix(_MARK).lstrip().startswith(b"[")


def open_json(content: Content, report: Report) -> SourceTable:
    """A table of the objects in a JSON array, or in JSON lines if the file does not begin with a bracket."""
    file = content.random_access()

    def read(problem: Report) -> Iterator[Numbered]:
        file.seek(0)
        chunks = iter(lambda: file.read(READ_BYTES), b"")
        return array_records(chunks, problem) if is_array(content) else line_records(chunks, problem)

    schema = _schema(read(lambda line, reason: None))
    return SourceTable(content.name, schema, _batches(read(report), schema, report), is_text=True)


def line_records(chunks: Iterable[bytes], report: Report) -> Iterator[Numbered]:
    """The value of every line; a line that is not one JSON value is reported."""
    long = f"the line is longer than {LINE_BYTES_MAX} bytes"
    for block in blocks(chunks, lambda line: report(line, long)):
        for line, text in enumerate(block.data.split(b"\n"), block.first_line):
            if not is_blank(text):
                try:
                    yield line, parse_line(text)
                except Malformed as problem:
                    report(line, str(problem))


def array_records(chunks: Iterable[bytes], report: Report) -> Iterator[Numbered]:
    """The items of an array, numbered from 1. Behind an item that cannot be parsed, nothing is read."""
    try:
        yield from _items(_texts(chunks))
    except _Broken as broken:
        report(broken.number, f"record {broken.number}: {broken.reason}")


class _Broken(Exception):
    """The array cannot be read on from this record."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


def _texts(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


class _Text:
    """Text that grows while it is read; what was read is dropped."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts = parts
        self.data = ""
        self.at = 0

    def grow(self) -> bool:
        """Read on; False at the end of the file."""
        part = next(self._parts, None)
        if part is None:
            return False
        self.data, self.at = self.data[self.at :] + part, 0
        return True

    def next_mark(self) -> str:
        """The next character that is not a space, empty at the end of the file."""
        while True:
            found = _SPACE.match(self.data, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.data):
                return self.data[self.at]
            if not self.grow():
                return ""


def _items(parts: Iterator[str]) -> Iterator[Numbered]:
    text, number = _Text(parts), 1
    try:
        text.next_mark()
        text.at += 1
        is_end = text.next_mark() == "]"
        while not is_end:
            yield number, _value(text, number)
            mark = text.next_mark()
            if mark not in (",", "]"):
                found = f"got {mark!r}" if mark else "the file ends"
                raise _Broken(number, f"expected a comma or the end of the array behind it, {found}")
            is_end = mark == "]"
            number += not is_end
            text.at += not is_end
        text.at += 1
        if text.next_mark():
            raise _Broken(number, f"the file continues behind the end of the array with {text.next_mark()!r}")
    except UnicodeDecodeError as problem:
        raise _Broken(number, f"byte 0x{problem.object[problem.start]:02x} is not UTF-8") from None


def _value(text: _Text, number: int) -> object:
    """The next value. A value that cannot be parsed may continue in the next part, up to the limit of a record."""
    if not text.next_mark():
        raise _Broken(number, "the file ends before the array does")
    while True:
        try:
            value, end = parse_at(text.data, text.at)
        except Malformed as problem:
            if len(text.data) - text.at > LINE_BYTES_MAX or not text.grow():
                raise _Broken(number, str(problem)) from None
        else:
            # A number at the end of the part may have more digits in the next one.
            if end < len(text.data) or not text.grow():
                text.at = end
                return value


def _schema(records: Iterable[Numbered]) -> pa.Schema:
    """The columns of all records, in the order in which they first occur."""
    kinds: dict[str, set[type]] = {}
    for _, record in records:
        if isinstance(record, Mapping):
            for name, value in record.items():
                is_wide = isinstance(value, int) and value.bit_length() >= _INT64_BITS
                kinds.setdefault(name, set()).add(str if is_wide else type(value))
    return pa.schema([(name, _type(found - {type(None)})) for name, found in kinds.items()])


def _type(kinds: set[type]) -> pa.DataType:
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    return pa.utf8()


def _batches(records: Iterator[Numbered], schema: pa.Schema, report: Report) -> Iterator[PlacedBatch]:
    while part := list(islice(records, RECORDS_PER_BLOCK)):
        lines: list[int] = []
        rows: list[Mapping[str, object]] = []
        for line, record in part:
            if isinstance(record, Mapping):
                lines.append(line)
                rows.append(record)
            else:
                report(line, "expected an object")
        columns = [_column([row.get(field.name) for row in rows], field.type) for field in schema]
        yield PlacedBatch(pa.RecordBatch.from_arrays(columns, names=schema.names), pa.array(lines, pa.int64()))


def _column(values: list[object], type_: pa.DataType) -> pa.Array:
    if not pa.types.is_string(type_):
        return pa.array(values, type_)
    return pa.array(
        [value if value is None or isinstance(value, str) else json.dumps(value) for value in values], type_
    )
