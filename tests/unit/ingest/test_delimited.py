"""CSV text as records: values, lines, and the reasons why a record has none, whatever the pieces it arrives in."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import InputError
from omnigraph.ingest.files.content import open_content
from omnigraph.ingest.files.delimited import open_csv, open_tsv
from omnigraph.rows.limits import LINE_BYTES_MAX

MARK = b"\xef\xbb\xbf"
Rows = list[tuple[int, tuple[str | None, ...]]]


BLANK = 80
"""Blank lines before a text: more than the first part of a file that is read at once."""


class Trickle:
    """A stream that gives few bytes at a time, as a pipe may."""

    name = "<stream>"

    def __init__(self, text: bytes, piece: int) -> None:
        self._file = io.BytesIO(text)
        self._piece = piece

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, self._piece))


def read(text: bytes, piece: int = 1 << 20, is_tsv: bool = False) -> tuple[list[str], Rows, dict[int, str]]:
    """Column names, rows with their lines, and the malformed lines."""
    problems: dict[int, str] = {}
    with open_content(cast(BinaryIO, Trickle(text, piece))) as content:
        opened = (open_tsv if is_tsv else open_csv)(content, problems.__setitem__)
        rows: Rows = []
        for batch, lines in opened.batches:
            values = [tuple(row.values()) for row in batch.to_pylist()]
            rows += zip(lines.to_pylist(), values, strict=True)
    return opened.schema.names, rows, problems


def read_late(text: bytes, piece: int) -> tuple[list[str], Rows, dict[int, str]]:
    """The same of a text behind blank lines, so that its records arrive in pieces."""
    mark = MARK if text.startswith(MARK) else b""
    names, rows, problems = read(mark + b"\n" * BLANK + text.removeprefix(MARK), piece)
    return names, [(line - BLANK, row) for line, row in rows], {line - BLANK: why for line, why in problems.items()}


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("text", "rows", "malformed"),
    [
        (b"a,b\n1,2\n", [(2, ("1", "2"))], {}),
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n\r\n3;4", [(2, ("1", "2")), (4, ("3", "4"))], {}),
        (b'a|b\n"x\ny"|2\n3|4\n\n5|""\n', [(2, ("x\ny", "2")), (4, ("3", "4")), (6, ("5", ""))], {}),
        (b"a,b\n1\n2,3,4\n5,\n", [(4, ("5", None))], {2: "1 field, but", 3: "3 fields, but"}),
        (b'a,b\n1,5" pipe\n"2"x,3\n3,x\n', [(2, ("1", '5" pipe')), (4, ("3", "x"))], {3: "is closed before"}),
        (b'a,b\n1,"open\n2,3\n', [(3, ("2", "3"))], {2: "is never closed"}),
        (b"\n  \na,b\n1,2\n   \n", [(4, ("1", "2"))], {}),
        (b'a,b\n007,"1,5"\n', [(2, ("007", "1,5"))], {}),
        (b"a,b\n", [], {}),
        (b"a,b\r1,2\r3,4", [(2, ("1", "2")), (3, ("3", "4"))], {}),
        ("a,b\n\u00e9,\U0001f600\n".encode(), [(2, ("\u00e9", "\U0001f600"))], {}),
    ],
)
def test_records_have_their_values_and_their_lines(
    text: bytes, rows: Rows, malformed: dict[int, str], piece: int
) -> None:
    names, found, problems = read_late(text, piece)
    assert (names, found) == (["a", "b"], rows)
    assert problems.keys() == malformed.keys()
    assert all(part in problems[line] for line, part in malformed.items())


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.text('a"\n\r,; \u00e9', max_size=5)] * 2), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    piece=st.sampled_from([1, 2, 5, 17, 1 << 20]),
)
def test_what_python_writes_is_read_with_its_lines(rows: list[tuple[str, str]], end: str, piece: int) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["h1", "h2"])
    expected = []
    for row in rows:
        line = len(text.getvalue().replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        expected.append((line, row))
        writer.writerow(row)
    _, found, problems = read_late(text.getvalue().encode(), piece)
    assert (found, problems) == (expected, {})


def test_names_of_columns_come_from_the_first_record() -> None:
    assert read(b'"the ""name""",,x y\n')[0] == ['the "name"', "column2", "x y"]
    assert read(b"a,b\tc\n1,2\t3\n", is_tsv=True) == (["a,b", "c"], [(2, ("1,2", "3"))], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        ("name\nA\nJos\u00e9\n".encode("latin-1"), ":3: byte 0xe9 is not UTF-8"),
        ("name\n\u00e9\n".encode("utf-16"), "is UTF-16"),
        (b"name\n\0\n", "zero byte at byte 6"),
        (b'"na"me\n1\n', ":1: the quote at column 1"),
    ],
)
def test_text_that_cannot_be_read_is_an_error_with_a_next_step(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)


def test_a_quote_that_is_never_closed_takes_one_record_and_bounded_memory() -> None:
    line = b"4," + b"x" * 2_000 + b"\n"
    many = LINE_BYTES_MAX // len(line) + 10
    _, rows, problems = read(b'a,b\n1,2\n3,"open\n' + line * many, LINE_BYTES_MAX)
    assert problems == {3: "the quote at column 3 is never closed"}
    assert [number for number, _ in rows] == [2, *range(4, many + 4)]
