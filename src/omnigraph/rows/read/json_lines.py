"""Splitting of a byte stream into blocks of complete lines, and strict parsing of one line.

Deals with JSON and lines, not with the meaning of records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph.core.decimals import WrittenNumber
from omnigraph.rows.limits import BLOCK_BYTES, LINE_BYTES_MAX, STRUCTURAL_TOKENS_MAX
from omnigraph.rows.violations import shown

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_STRUCTURAL: Final = b"{}[],:"
_BLANK: Final = b" \t\r"


class Malformed(Exception):
    """The line is not one JSON value; the text gives the reason and the column."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Complete lines; only the last one of the stream may lack its line feed."""

    data: bytes
    first_line: int
    lines: int


def blocks(chunks: Iterable[bytes], too_long: Callable[[int], None], *, is_start: bool = True) -> Iterator[LineBlock]:
    """Cut a stream at line ends. ``too_long`` is called with the number of each line skipped for its length.

    A byte order mark at the very start (``is_start``) is dropped: some editors write one invisibly.
    """
    pending: list[bytes] = []
    size, line = 0, 1
    is_skipping = has_line_end = False
    for piece in _pieces(chunks):
        if is_skipping:
            end = piece.find(b"\n")
            if end < 0:
                continue
            piece, line, is_skipping = piece[end + 1 :], line + 1, False  # noqa: PLW2901 - the rest of the piece
        if not has_line_end:
            end = piece.find(b"\n")
            has_line_end = end >= 0
            if size + (end if has_line_end else len(piece)) > LINE_BYTES_MAX:
                too_long(line)
                pending, size = [], 0
                is_skipping = not has_line_end
                if is_skipping:
                    continue
                piece, line = piece[end + 1 :], line + 1  # noqa: PLW2901 - the rest of the piece
                has_line_end = b"\n" in piece
        pending.append(piece)
        size += len(piece)
        if has_line_end and size >= BLOCK_BYTES:
            data = b"".join(pending)
            cut = data.rfind(b"\n") + 1
            lines = data.count(b"\n", 0, cut)
            yield LineBlock(_without_mark(data[:cut]) if is_start else data[:cut], line, lines)
            line += lines
            pending, size, has_line_end, is_start = [data[cut:]], len(data) - cut, False, False
    if size:
        data = b"".join(pending)
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        yield LineBlock(_without_mark(data) if is_start else data, line, lines)


def _without_mark(data: bytes) -> bytes:
    return data.removeprefix(_BYTE_ORDER_MARK)


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces no larger than a block: callers may pass chunks of any size."""
    for chunk in chunks:
        if len(chunk) <= BLOCK_BYTES:
            yield bytes(chunk)
        else:
            view = memoryview(chunk)
            for start in range(0, len(view), BLOCK_BYTES):
                yield bytes(view[start : start + BLOCK_BYTES])


def is_blank(line: bytes) -> bool:
    return not line.strip(_BLANK)


def parse_line(line: bytes, *, keeps_digits: bool = False) -> object:
    """The one JSON value of a line. Raises Malformed; duplicate keys, NaN and infinities are not JSON here.

    With ``keeps_digits`` numbers with a fraction remember how they were written.
    """
    line = line.rstrip(_BLANK)
    if len(line) > STRUCTURAL_TOKENS_MAX and _structural_tokens(line) > STRUCTURAL_TOKENS_MAX:
        raise Malformed(f"the line has more than {STRUCTURAL_TOKENS_MAX} brackets, commas and colons")
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        raise Malformed(f"not valid UTF-8 at byte {problem.start + 1} of the line") from None
    try:
        return _decode(_EXACT_DECODER if keeps_digits else _DECODER, text)
    except ValueError:
        # Python refuses to convert thousands of digits. As a float they are infinite, which every type refuses.
        return _decode(_FLOAT_DECODER, text)


def parse_at(text: str, start: int) -> tuple[object, int]:
    """The JSON value that begins at a position, and the position behind it. Raises Malformed."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as problem:
        raise Malformed(f"invalid JSON: {problem.msg}") from None
    except ValueError:
        return _FLOAT_DECODER.raw_decode(text, start)
    except RecursionError:
        raise Malformed("invalid JSON: nested too deeply") from None


def _decode(decoder: json.JSONDecoder, text: str) -> object:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as problem:
        raise Malformed(f"invalid JSON: {problem.msg} at column {problem.pos + 1}") from None
    except RecursionError:
        raise Malformed("invalid JSON: nested too deeply") from None


def _structural_tokens(line: bytes) -> int:
    bare = _STRING.sub(b"", line)
    return len(bare) - len(bare.translate(None, _STRUCTURAL))


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Malformed(f"the key {shown(key)} occurs twice in one object")
            seen.add(key)
    return found


def _no_constant(name: str) -> object:
    raise Malformed(f"invalid JSON: {name} is not a JSON number")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant)
_EXACT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=WrittenNumber
)
_FLOAT_DECODER: Final = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant, parse_int=float)


def records_at(chunks: Iterable[bytes], lines: Collection[int], *, is_start: bool = True) -> dict[int, object]:
    """Records of a stream by line: the text of a line that is not a record, and none for one that is too long."""
    wanted = set(lines)
    found: dict[int, object] = {}
    for block in blocks(chunks, lambda line: None, is_start=is_start):
        if wanted.isdisjoint(range(block.first_line, block.first_line + block.lines)):
            continue
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if number in wanted:
                try:
                    found[number] = parse_line(line)
                except Malformed:
                    found[number] = line.decode(errors="replace")
    return found
