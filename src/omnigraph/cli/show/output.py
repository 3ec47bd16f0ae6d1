"""Output of the command line: text, coloured on terminals only, and JSON.

Colour depends on the stream that is written to: callers always paint, and ``say`` removes colours that do not apply.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

import click


def say(text: str = "", *, to_stderr: bool = False) -> None:
    """Print a line; colours are kept only on terminals, and only if NO_COLOR is not set."""
    stream = sys.stderr if to_stderr else sys.stdout
    click.echo(text, err=to_stderr, color=wants_colour(stream))


def wants_colour(stream: object) -> bool:
    """True for a terminal, unless the environment asks for plain text."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def paint(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    """The text with the codes of a colour around it."""
    return click.style(text, fg=colour, bold=bold or None)


def say_json(value: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
    """Print a form of ``omnigraph.wire`` as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=not is_utf8(sys.stdout)), color=False)


def is_utf8(stream: object) -> bool:
    """True if every character can be written as it is; otherwise JSON escapes the others."""
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def count(number: int, what: str, plural: str | None = None) -> str:
    """`1 error`, `2 errors`, `no queries`."""
    return f"{f'{number:,}' if number else 'no'} {what if number == 1 else plural or what + 's'}"
