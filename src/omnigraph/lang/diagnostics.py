"""Compiler diagnostics: located messages, and their rendering with a caret.

A diagnostic is data; callers decide whether to raise. ``Diagnostics`` collects them so that one run reports every
problem, up to a limit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import DIAGNOSTICS_MAX
from omnigraph.errors import CompileError
from omnigraph.lang.source import Source, Span

EXCERPT_CHARS_MAX = 160
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
"""Replaces control characters, which could otherwise inject terminal escape sequences."""


class Severity(Enum):
    """Severity levels; only errors fail a compilation."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One located message."""

    code: str
    message: str
    span: Span
    source: Source = field(repr=False, compare=False)
    severity: Severity = Severity.ERROR
    hint: str | None = None

    @property
    def line(self) -> int:
        return self.source.position(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.span.start)[1]

    def headline(self) -> str:
        """The message on one line, with its location."""
        return f"{self.source.name}:{self.line}:{self.column}: {self.severity.value}[{self.code}]: {self.message}"

    def render(self) -> str:
        """The headline, the source line with carets below, and the hint."""
        line, column = self.source.position(self.span.start)
        text = self.source.line_text(line)
        offset = max(0, column - 1 - EXCERPT_CHARS_MAX // 2)
        excerpt = text[offset : offset + EXCERPT_CHARS_MAX]
        before = column - 1 - offset
        lead = "".join(char if char == "\t" else " " * _columns(char) for char in excerpt[:before])
        marked = excerpt[before : before + self.span.end - self.span.start]
        carets = "^" * max(1, sum(map(_columns, marked)))
        gutter = " " * len(str(line))
        shown = "".join(char if char.isprintable() or char == "\t" else _UNPRINTABLE for char in excerpt)
        drawing = [self.headline(), f" {gutter} |", f" {line} | {shown}", f" {gutter} | {lead}{carets}"]
        if self.hint:
            drawing.append(f" {gutter} = hint: {self.hint}")
        return "\n".join(drawing)


def _columns(char: str) -> int:
    """The number of terminal columns of a character."""
    if not char.isprintable():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Diagnostics:
    """Collects the diagnostics of one source; keeps at most ``DIAGNOSTICS_MAX`` and counts the rest."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._items: list[Diagnostic] = []
        self._left_out = 0

    def error(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self._add(Diagnostic(code, message, span, self.source, Severity.ERROR, hint))

    def warning(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self._add(Diagnostic(code, message, span, self.source, Severity.WARNING, hint))

    def _add(self, diagnostic: Diagnostic) -> None:
        if len(self._items) < DIAGNOSTICS_MAX:
            self._items.append(diagnostic)
        else:
            self._left_out += 1

    @property
    def is_full(self) -> bool:
        """True once further diagnostics are only counted, so that computing hints is pointless."""
        return len(self._items) >= DIAGNOSTICS_MAX

    @property
    def has_errors(self) -> bool:
        return any(item.severity is Severity.ERROR for item in self._items)

    def report(self) -> tuple[Diagnostic, ...]:
        """All diagnostics in source order; a final one counts those beyond the limit, if any."""
        items = sorted(self._items, key=lambda item: item.span.start)
        if not self._left_out:
            return tuple(items)
        last = items[-1]
        note = Diagnostic(
            "OG-LIMIT",
            f"{self._left_out} more diagnostics are not shown",
            last.span,
            self.source,
            Severity.INFO,
        )
        return (*items, note)

    def raise_errors(self) -> None:
        """Raise CompileError with all diagnostics if one is an error."""
        raise_errors(self.report())


def raise_errors(diagnostics: Sequence[Diagnostic]) -> None:
    """Raise CompileError with all diagnostics if one is an error."""
    if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        raise CompileError(diagnostics)
