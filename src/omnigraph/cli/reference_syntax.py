"""Compatibility with command lines of Omnigraph 0.10.

That program accepts some options before the command, has two old command names with defaults of their own, and also
checks query files by a subcommand of ``query``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from omnigraph.cli.show.output import say

_WITH_VALUE: Final = ("--store", "--uri", "--profile", "--as", "--server", "--cluster", "--graph")
_FLAGS: Final = ("--yes", "-y", "--quiet", "-q")
_OURS: Final = ("--log-format",)
"""Options of the program itself that take a value: they stay before the command."""

_LINTS: Final = (("query", "lint"), ("query", "check"))
_INGEST: Final = ("load", "--mode", "merge", "--from", "main")
"""``ingest`` with its defaults. Options that follow override them, because the last one of an option counts."""


def translated(arguments: Sequence[str]) -> list[str]:
    """The same command line in the syntax of this program."""
    kept, moved, rest = _divided(arguments)
    words = _renamed(rest)
    end = words.index("--") if "--" in words else len(words)
    return [*kept, *words[:end], *moved, *words[end:]]


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Options that stay before the command, options that move behind it, and the rest."""
    kept: list[str] = []
    moved: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name = rest[0].partition("=")[0]
        target = moved if name in (*_WITH_VALUE, *_FLAGS) else kept
        size = 2 if rest[0] in (*_WITH_VALUE, *_OURS) else 1
        target += rest[:size]
        del rest[:size]
    # Without a command there is nothing to move options to; the program prints its help.
    return (kept, moved, rest) if rest else (kept, [], [])


def _renamed(words: list[str]) -> list[str]:
    if words[:1] == ["ingest"]:
        say("note: `ingest` is deprecated, use `load`", to_stderr=True)
        return [*_INGEST, *words[1:]]
    return ["lint", *words[2:]] if tuple(words[:2]) in _LINTS else words
