"""Command lines as users of the reference write them, turned into ours.

There some options may stand before the command, two old names of commands have defaults of their own, and the check of
a query file is also a command below ``query``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from omnigraph.cli.show.output import say

_WITH_VALUE: Final = ("--store", "--uri", "--profile", "--as")
_FLAGS: Final = ("--yes", "-y", "--quiet", "-q")
_OURS: Final = ("--log-format",)
"""Options of the program itself that take a value: they stay in front."""

_LINTS: Final = (("query", "lint"), ("query", "check"))
_INGEST: Final = ("load", "--mode", "merge", "--from", "main")
"""What ``ingest`` means where it is not said otherwise: of an option that is given twice the last one counts."""


def translated(arguments: Sequence[str]) -> list[str]:
    """The same command as our parser takes it."""
    kept, moved, rest = _divided(arguments)
    words = _renamed(rest)
    end = words.index("--") if "--" in words else len(words)
    return [*kept, *words[:end], *moved, *words[end:]]


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Options before the command that stay there, those that belong after it, and the rest."""
    kept: list[str] = []
    moved: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name = rest[0].partition("=")[0]
        target = moved if name in (*_WITH_VALUE, *_FLAGS) else kept
        size = 2 if rest[0] in (*_WITH_VALUE, *_OURS) else 1
        target += rest[:size]
        del rest[:size]
    # Without a command there is nothing to move to, and help is shown.
    return (kept, moved, rest) if rest else (kept, [], [])


def _renamed(words: list[str]) -> list[str]:
    if words[:1] == ["ingest"]:
        say("note: `ingest` is deprecated, use `load`", to_stderr=True)
        return [*_INGEST, *words[1:]]
    return ["lint", *words[2:]] if tuple(words[:2]) in _LINTS else words
