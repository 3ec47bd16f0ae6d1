"""Cursors of the change feed: every position survives, and no cursor counts for another request or after damage."""

import base64
import dataclasses
import hashlib
import json

import pytest

from omnigraph.core.limits import CURSOR_CHARS_MAX
from omnigraph.errors import CursorRejected
from omnigraph.history.cursors import Position, Scope, read_cursor, write_cursor

SCOPE = Scope("graph-1", "incarnation-1", "filter-1")
POSITION = Position("01JCOMMIT", 17)


def sealed(fields: list[object]) -> str:
    """A cursor with any fields and a digest that fits them."""
    payload = json.dumps(fields).encode()
    return base64.urlsafe_b64encode(payload + hashlib.sha256(payload).digest()).decode().rstrip("=")


@pytest.mark.parametrize("position", [Position(""), Position("c"), Position("01JCOMMIT", 0), Position("ü" * 9, 2**53)])
def test_a_position_is_read_as_it_was_written(position: Position) -> None:
    text = write_cursor(SCOPE, position)
    assert read_cursor(text, SCOPE) == position
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    ("field", "reason"),
    [("graph", "another graph"), ("followed", "another branch or commit"), ("chosen", "another filter")],
)
def test_a_cursor_counts_only_for_the_request_it_was_made_for(field: str, reason: str) -> None:
    other = dataclasses.replace(SCOPE, **{field: "other"})
    with pytest.raises(CursorRejected, match=reason) as raised:
        read_cursor(write_cursor(SCOPE, POSITION), other)
    assert raised.value.hint is not None


def test_a_cursor_that_was_cut_or_changed_anywhere_is_rejected() -> None:
    text = write_cursor(SCOPE, POSITION)
    cut = [text[:size] for size in range(len(text))]
    # The last character holds bits that base64 does not use, so it is not changed but only cut.
    changed = [f"{text[:place]}{'A' if old != 'A' else 'B'}{text[place + 1 :]}" for place, old in enumerate(text[:-1])]
    for damaged in (*cut, *changed):
        with pytest.raises(CursorRejected):
            read_cursor(damaged, SCOPE)


@pytest.mark.parametrize("text", ["", "not a cursor", "é", "====", " " * 40])
def test_other_texts_are_no_cursors(text: str) -> None:
    with pytest.raises(CursorRejected, match="not a cursor"):
        read_cursor(text, SCOPE)


def test_a_cursor_of_another_format_names_both_formats() -> None:
    with pytest.raises(CursorRejected, match="format 2, and this release reads format 1"):
        read_cursor(sealed([2, *dataclasses.astuple(SCOPE), "c", None]), SCOPE)


def test_the_length_of_a_cursor_is_limited_before_it_is_decoded() -> None:
    with pytest.raises(CursorRejected, match="longer than"):
        read_cursor("A" * (CURSOR_CHARS_MAX + 1), SCOPE)
