"""Records of delimited text: one at a time, with the line that each begins in, and the shape of a whole block.

The block functions say if Arrow's parser reads a block exactly as ``next_record`` would; only then it is used. Quotes
follow RFC 4180: a quoted field begins and ends at a delimiter, and a quote in it is doubled. A quote inside an unquoted
field is a character like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.rows.typed_rows import counting

Numbers = npt.NDArray[Any]
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of a record, None for an empty field without quotes, or the reason why it has none."""

    fields: list[bytes | None]
    line: int
    end: int
    """Position behind the record."""
    lines: int
    """Lines that it takes."""
    problem: str | None = None


class Incomplete(Exception):
    """The record may continue behind the end of the data."""


def records(data: bytes, delimiter: bytes, line: int, *, is_last: bool) -> Iterator[Record]:
    """The records of a text from its start. Blank lines are skipped; an unfinished record at the end is left."""
    at = 0
    while at < len(data):
        try:
            record = _record(data, at, delimiter, line, is_last=is_last)
        except Incomplete:
            return
        at, line = record.end, line + record.lines
        yield record


def _record(data: bytes, start: int, delimiter: bytes, line: int, *, is_last: bool) -> Record:
    quoted, plain = _patterns(delimiter)
    fields: list[bytes | None] = []
    at = start
    while True:
        if data.startswith(b'"', at):
            found = quoted.match(data, at)
            if found is None:
                return _malformed(data, start, at, line, is_last=is_last)
            fields.append(found.group(1).replace(b'""', b'"'))
        else:
            found = plain.match(data, at)
            assert found is not None, "the pattern matches the empty field"
            fields.append(found.group(1) or None)
        at, end = found.end(), found.group(2)
        if at == len(data) and not is_last and end != b"\n":
            raise Incomplete
        if end != delimiter:
            lines = len(_LINE_END.findall(data, start, at)) + (not end)
            return Record(fields, line, at, lines)


def _malformed(data: bytes, start: int, at: int, line: int, *, is_last: bool) -> Record:
    """A record whose quote is not closed, or is closed before the field ends; reading continues in the next line."""
    closing, found = _CLOSING.match(data, at), _LINE_END.search(data, at)
    if not is_last and (closing is None or found is None):
        raise Incomplete
    end = found.end() if found else len(data)
    column = len(data[start:at].rpartition(b"\n")[2]) + 1
    reason = "is never closed" if closing is None else "is closed before the field ends; a quote in it is doubled"
    lines = len(_LINE_END.findall(data, start, end)) + (found is None)
    return Record([], line, end, lines, f"the quote at column {column} {reason}")


_CLOSING: Final = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


@lru_cache
def _patterns(delimiter: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A quoted and an unquoted field with the delimiter or line end behind it."""
    mark = re.escape(delimiter)
    end = rb"(" + mark + rb"|\r\n|\n|\r|\Z)"
    return re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"' + end), re.compile(rb"([^" + mark + rb"\r\n]*+)" + end)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records that Arrow's parser reads as this module would: its length, lines, and the line of each record."""

    end: int
    lines: int
    record_lines: pa.Array


def plain_block(data: bytes, delimiter: bytes, line: int, *, is_last: bool) -> Block | None:
    """The records at the start of a text as a block for Arrow; None if they have to be read one at a time.

    Without quotes every line is taken for a record. If Arrow finds fewer, some are blank: see ``located_block``.
    """
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    if b'"' in data:
        return located_block(data, delimiter, line, is_last=is_last)
    end = len(data) if is_last else data.rfind(b"\n") + 1
    lines = data.count(b"\n", 0, end) + (end > 0 and data[end - 1 : end] != b"\n")
    return Block(end, lines, counting(line, lines))


def located_block(data: bytes, delimiter: bytes, line: int, *, is_last: bool) -> Block | None:
    """The block of a text with quotes or blank lines.

    An even number of quotes before a line feed means that it ends a record. In ``a,"b\\nc"\\nd`` the quotes are at 2
    and 6: one is before the line feed at 4, two are before that at 7, so the records begin in lines 1 and 3.
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    if not _are_regular(text, quotes, delimiter):
        return None
    feeds = np.flatnonzero(text == ord("\n"))
    is_end = np.searchsorted(quotes, feeds) % 2 == 0
    if is_last:
        if len(quotes) % 2:
            return None
        end = len(data)
    else:
        ends = feeds[is_end]
        end = int(ends[-1]) + 1 if len(ends) else 0
    feeds, is_end = feeds[feeds < end], is_end[: int(np.searchsorted(feeds, end))]
    at_end = np.flatnonzero(is_end)
    starts = np.concatenate([[0], feeds[at_end] + 1])
    lines = np.concatenate([[0], at_end + 1])
    is_record = _has_text(text, starts, end)
    count = len(feeds) + bool(end and data[end - 1 : end] != b"\n")
    return Block(end, count, pa.array(lines[is_record] + line, pa.int64()))


def _are_regular(text: Numbers, quotes: Numbers, delimiter: bytes) -> bool:
    """True if every quoted field begins and ends at a delimiter or a line end; doubled quotes close and open again."""
    around = np.zeros(256, np.bool_)
    around[[ord('"'), ord("\n"), ord("\r"), ord(delimiter)]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    before = around[text[opening[opening > 0] - 1]]
    behind = around[text[closing[closing < len(text) - 1] + 1]]
    return bool(before.all() and behind.all())


def _has_text(text: Numbers, starts: Numbers, end: int) -> Numbers:
    """False for the start of a blank line, and for the end of the text."""
    padded = np.concatenate([text[:end], np.frombuffer(b"\n\n", np.uint8)])
    first, second = padded[starts], padded[np.minimum(starts + 1, end + 1)]
    is_blank = (first == ord("\n")) | ((first == ord("\r")) & (second == ord("\n")))
    has_text: Numbers = np.logical_not(is_blank)
    return has_text
