"""Broken texts with a mark at the place where the diagnostic must point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Source

MARK = "¦"


@dataclass(frozen=True)
class Broken:
    """A text with a mark before the token, and what message and hint must contain (None: there is no hint)."""

    text: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return " ".join(self.text.split())[:70]


def check_broken(case: Broken, parse: Callable[[Source], Sequence[Diagnostic]]) -> None:
    """The text gives exactly one diagnostic: there, with this message and hint."""
    offset = case.text.index(MARK)
    text = case.text.replace(MARK, "")
    following = text[offset:].lstrip()
    offset = len(text) - len(following)
    diagnostics = parse(Source(text))
    assert len(diagnostics) == 1, [diagnostic.render() for diagnostic in diagnostics]
    found = diagnostics[0]
    line, column = text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1
    assert (found.code, found.line, found.column) == ("P001", line, column), found.render()
    assert case.message in found.message
    assert (case.hint in found.hint) if case.hint and found.hint else case.hint == found.hint, found.hint
