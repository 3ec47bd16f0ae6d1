"""Tables as text: aligned columns without borders, readable for people and `awk`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnigraph.cli.show.output import paint

_GAP = "  "


def aligned(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header line and the rows. Columns of numbers are right-aligned, others left-aligned."""
    body = list(rows)
    cells = [[cell(value) for value in row] for row in body]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    is_number = [bool(body) and all(isinstance(row[index], int) for row in body) for index in range(len(headers))]
    lines = [_line(line, widths, is_number) for line in [headers, *cells]]
    return "\n".join([paint(lines[0], bold=True), *lines[1:]])


def cell(value: object) -> str:
    """A value on one line: control characters are escaped, an empty value is a dash."""
    if isinstance(value, int):
        return f"{value:,}"
    text = "" if value is None else str(value)
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text) or "-"


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    padded = [
        text.rjust(width) if right else text.ljust(width)
        for text, width, right in zip(cells, widths, is_number, strict=True)
    ]
    return _GAP.join(padded).rstrip()
