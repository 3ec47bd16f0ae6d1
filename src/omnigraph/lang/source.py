"""A source text and positions in it.

Positions are character offsets; lines and columns (both from 1) and byte offsets are computed on demand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from omnigraph.core.classes.dataclass import dataclass


class Span(NamedTuple):
    """Half-open range of character offsets."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``."""
        return Span(self.start, other.end)


@dataclass(frozen=True)
class Source:
    """A named text. The name is what diagnostics show: a path, or something like ``<string>``."""

    text: str = field(repr=False)
    name: str = "<string>"

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(index + 1 for index, char in enumerate(self.text) if char == "\n")
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, without its line break."""
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None].rstrip("\r")

    def byte_span(self, span: Span) -> tuple[int, int]:
        """The span in UTF-8 bytes, as clients of the reference implementation expect it; never empty."""
        start = len(self.text[: span.start].encode("utf-8", "surrogatepass"))
        length = len(self.text[span.start : span.end].encode("utf-8", "surrogatepass"))
        return start, start + max(length, 1)


_FILE_NAME = re.compile(r"[^\s{}]+\.\w{1,12}|\S*[/\\]\S*")


def is_file_name(text: str) -> bool:
    """True for a text that names a file: a query and a schema are never a single word with a suffix or a slash."""
    return _FILE_NAME.fullmatch(text.strip()) is not None
