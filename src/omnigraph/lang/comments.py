"""Reinsertion of comments and blank lines into formatted lines.

A formatter yields lines with the source range each of them represents (``Line``); ``weave`` adds what the syntax tree
does not hold. A comment before a line's range goes above the line; one inside it, or after it on the same source
line, goes to the end of the line. No comment is dropped: where several meet and only the last can share the line, the
others go above it. Independent of the grammar.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.lang.lexer import Comment, Kind, lex
from omnigraph.lang.source import Source, Span

LINE_COLUMNS_MAX = 100
"""Maximum width of a line; longer constructs are broken."""

INDENT = "  "
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True, slots=True)
class Line:
    """A formatted line and the source range it represents.

    ``opens``: ends with a bracket whose content follows. ``closes``: starts with the bracket that ends such a content.
    ``separate``: a declaration starts, so one blank line precedes it.
    """

    text: str
    depth: int
    span: Span
    opens: bool = False
    closes: bool = False
    separate: bool = False


class Places:
    """Lookup of tokens and comments by offset. For a tree without source (empty text) every lookup is empty."""

    def __init__(self, source: Source, comments: Sequence[Comment]) -> None:
        self._tokens = lex(source).tokens
        self._starts = [token.span.start for token in self._tokens]
        self._comment_starts = [comment.span.start for comment in comments]

    def find(self, text: str, after: int, before: int) -> Span:
        """The first word or punctuation of this spelling between two offsets, or an empty span at the first."""
        for index in range(bisect_left(self._starts, after), bisect_left(self._starts, before)):
            token = self._tokens[index]
            if token.text == text and token.kind in (Kind.WORD, Kind.PUNCTUATION):
                return token.span
        return Span(after, after)

    def next_token(self, after: int) -> Span:
        """The first token at or after an offset."""
        return self._tokens[min(bisect_left(self._starts, after), len(self._tokens) - 1)].span

    def has_comment(self, start: int, end: int) -> bool:
        """True if a comment starts between two offsets."""
        index = bisect_left(self._comment_starts, start)
        return index < len(self._comment_starts) and self._comment_starts[index] < end


def fits(columns: int, depth: int) -> bool:
    """True if a line is within ``LINE_COLUMNS_MAX``."""
    return len(INDENT) * depth + columns <= LINE_COLUMNS_MAX


def weave(source: Source, comments: Sequence[Comment], lines: Sequence[Line]) -> str:
    """The formatted text: lines, comments, and the author's blank lines, collapsed to one."""
    weaver = _Weaver(source.text, comments)
    for index, line in enumerate(lines):
        following = lines[index + 1].span.start if index + 1 < len(lines) else len(source.text)
        weaver.add(line, following)
    return weaver.finish()


class _Weaver:
    def __init__(self, text: str, comments: Sequence[Comment]) -> None:
        self._text = text
        self._comments = comments
        self._next = 0
        # The source offset at which the last output ended, and whether a blank line may follow it.
        self._end = 0
        self._may_leave_blank = False
        self._out: list[str] = []

    def add(self, line: Line, following: int) -> None:
        """Write a line with its comments. ``following`` is the offset at which the next line's range starts."""
        leading = self._take_before(line.span.start)
        inner = self._take_before(line.span.end)
        end = max([line.span.end, *(comment.span.end for comment in inner)])
        above, beside = _share_line([*inner, *self._take_behind(end, following)])

        comment_depth = line.depth + 1 if line.closes else line.depth
        needs_blank = line.separate and bool(self._out)
        for comment in leading:
            self._write(comment.text, comment_depth, comment.span, needs_blank)
            needs_blank = False
        for comment in above:
            self._write(comment.text, comment_depth, Span(line.span.start, line.span.start), needs_blank)
            needs_blank = False
        if line.closes:
            self._may_leave_blank = False
        text = " ".join([line.text, *(comment.text for comment in beside)])
        self._write(text, line.depth, line.span, needs_blank)
        self._end = max([end, *(comment.span.end for comment in beside)])
        self._may_leave_blank = not line.opens

    def finish(self) -> str:
        """Write the comments after the last line, and return the whole text."""
        for comment in self._take_before(len(self._text) + 1):
            self._write(comment.text, 0, comment.span, False)
        return "".join(f"{line}\n" for line in self._out)

    def _write(self, text: str, depth: int, span: Span, needs_blank: bool) -> None:
        author_left_blank = _BLANK_LINE.search(self._text, self._end, max(self._end, span.start)) is not None
        if needs_blank or (author_left_blank and self._may_leave_blank):
            self._out.append("")
        self._out.append(f"{INDENT * depth}{text}")
        self._end = max(self._end, span.end)
        self._may_leave_blank = True

    def _take_before(self, offset: int) -> list[Comment]:
        first = self._next
        while self._next < len(self._comments) and self._comments[self._next].span.start < offset:
            self._next += 1
        return list(self._comments[first : self._next])

    def _take_behind(self, end: int, following: int) -> list[Comment]:
        """The comments that start on the source line on which this range, or the previous comment, ends."""
        taken: list[Comment] = []
        while self._next < len(self._comments):
            comment = self._comments[self._next]
            if comment.span.start >= following or "\n" in self._text[end : comment.span.start]:
                break
            taken.append(comment)
            end = comment.span.end
            self._next += 1
        return taken


def _share_line(comments: list[Comment]) -> tuple[list[Comment], list[Comment]]:
    """Split into comments that must go above the line and those that fit at its end."""
    first = max(0, len(comments) - 1)
    while first > 0 and _can_be_followed(comments[first - 1]):
        first -= 1
    return comments[:first], comments[first:]


def _can_be_followed(comment: Comment) -> bool:
    return comment.text.startswith("/*") and "\n" not in comment.text
