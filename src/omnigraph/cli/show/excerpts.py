"""Diagnostics on a terminal: the compiler's excerpts, coloured by severity."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.cli.show.output import paint
from omnigraph.lang.diagnostics import Diagnostic, Severity

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def label(severity: Severity, code: str | None = None) -> str:
    """`error[T4]` in the colour of its severity."""
    return paint(f"{severity.value}[{code}]" if code else severity.value, COLOURS[severity], bold=True)


def draw(diagnostic: Diagnostic) -> str:
    """The headline, the excerpt with its caret, and the hint."""
    place = f"{diagnostic.source.name}:{diagnostic.line}:{diagnostic.column}"
    headline = f"{paint(place, bold=True)}: {label(diagnostic.severity, diagnostic.code)}: {diagnostic.message}"
    drawing = diagnostic.render().removeprefix(diagnostic.headline()).splitlines()[1:]
    return "\n".join([headline, *(_paint_line(line, COLOURS[diagnostic.severity]) for line in drawing)])


def draw_all(diagnostics: Iterable[Diagnostic]) -> str:
    """Several diagnostics, with a blank line between them."""
    return "\n\n".join(map(draw, diagnostics))


def _paint_line(line: str, colour: str) -> str:
    gutter, bar, rest = line.partition("|")
    if not bar or "=" in gutter:
        before, sign, hint = line.partition("= hint:")
        return f"{before}{paint(sign, 'cyan')}{hint}"
    is_caret = not gutter.strip() and bool(rest) and not rest.strip(" \t^")
    return f"{paint(gutter + bar, 'blue')}{paint(rest, colour, bold=True) if is_caret else rest}"
