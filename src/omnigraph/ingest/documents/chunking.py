"""Division of a text into overlapping chunks at the best boundaries: headings, paragraphs, sentences, words.

A chunk is a part of the text as it is, so its offset locates it. Every character that is not white space is in a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BOUNDARIES: Final = (
    re.compile(r"\n(?=#{1,6} )"),
    re.compile(r"\n[ \t]*\n"),
    re.compile(r"\n"),
    # Full stops of East Asian texts need no space behind them.
    re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])[\"')\\]\u201d\u2019]*\\s+|(?<=[\u3002\uff01\uff1f])"),
    re.compile(r"\s+"),
)
"""Places to divide at, the best first: a heading, a paragraph, a line, a sentence, a word."""

_CHARACTER: Final = re.compile(r"\S")

_SHARE: Final = 0.5
"""A boundary is taken only in the last part of a chunk, so that none is much shorter than it may be."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text, and where it begins."""

    start: int
    text: str


def divide(text: str, size: int, overlap: int) -> Iterator[Chunk]:
    """Chunks of at most ``size`` characters; each repeats up to ``overlap`` characters of the one before."""
    start = _next_character(text, 0)
    while start < len(text):
        end = _end(text, start, size)
        yield Chunk(start, text[start:end].rstrip())
        start = _next_character(text, _next_start(text, start, end, overlap) if end < len(text) else end)


def _next_character(text: str, start: int) -> int:
    """The first place from ``start`` on that is not white space."""
    found = _CHARACTER.search(text, start)
    return len(text) if found is None else found.start()


def _end(text: str, start: int, size: int) -> int:
    """The last good boundary within the size; the size itself in a text without any."""
    limit = start + size
    if limit >= len(text):
        return len(text)
    least = start + max(1, int(size * _SHARE))
    for boundary in _BOUNDARIES:
        last = None
        for found in boundary.finditer(text, least, limit):
            last = found.end()
        if last is not None and last > start:
            return last
    return limit


def _next_start(text: str, start: int, end: int, overlap: int) -> int:
    """The first word after the point at which the overlap begins; never before the end of progress."""
    wanted = end - overlap
    if overlap <= 0 or wanted <= start:
        return end
    # White space right before the overlap is the boundary of its first word.
    found = _BOUNDARIES[-1].search(text, max(start + 1, wanted - 1), end)
    return found.end() if found is not None else wanted


def title_of(text: str, fallback: str) -> str:
    """The first heading or line of a text, if it is short; otherwise the fallback."""
    for line in text.splitlines():
        stripped = line.strip().lstrip("#").strip()
        if stripped:
            return stripped if len(stripped) <= TITLE_CHARS_MAX else fallback
    return fallback


TITLE_CHARS_MAX: Final = 200
"""Characters of a title: a longer first line is a paragraph."""
