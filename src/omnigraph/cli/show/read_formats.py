"""Output formats of rows for people, in plain text: tables and key-value lists.

The layouts are those of Omnigraph 0.10. ``terminal_tables`` draws tables that fit the width of a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size

from omnigraph.cli.show.machine_formats import cell_text, written_rows

if TYPE_CHECKING:
    from omnigraph.engine.query.result import QueryResult

_ELLIPSIS = "…"


def table_lines(result: QueryResult, width: int, *, wrap: bool = False) -> Iterator[str]:
    """A summary line, the column names, a rule, and the rows."""
    yield header(result)
    fit = partial(_wrapped if wrap else _cut, width=width)
    names = [_cut(visible(name), width)[0] for name in result.columns]
    rows = [[fit(visible(cell_text(cell))) for cell in row.values()] for row in written_rows(result)]
    columns = zip(([name] for name in names), *rows, strict=True)
    widths = [max(cell_len(line) for lines in column for line in lines) for column in columns]
    yield _table_line(names, widths)
    yield "-+-".join("-" * width for width in widths)
    for row in rows:
        for line in zip_longest(*row, fillvalue=""):
            yield _table_line(line, widths)


def _table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    return " | ".join(padded).rstrip(" ")


def _cut(text: str, width: int) -> list[str]:
    return [text if cell_len(text) <= width else set_cell_size(text, width - 1) + _ELLIPSIS]


def _wrapped(text: str, width: int) -> list[str]:
    return chop_cells(text, width) or [""]


def kv_lines(result: QueryResult, text: Callable[[object], str] = cell_text) -> Iterator[str]:
    """A summary line, then every row as lines of column and value, each value by ``text``."""
    yield header(result)
    if not len(result):
        yield "(no rows)"
    for number, row in enumerate(written_rows(result), 1):
        if number > 1:
            yield ""
        yield f"row {number}"
        for name, cell in row.items():
            yield f"{visible(name)}: {visible(text(cell))}"


def header(result: QueryResult) -> str:
    """The summary line: number of rows, branch or snapshot, query."""
    place = f"branch {result.branch}" if result.branch else f"snapshot {result.commit_id}"
    known = f" from {place}" if result.branch or result.commit_id else ""
    return f"{len(result)} rows{known} via {result.query_name}"


def visible(text: str) -> str:
    """One line without control characters, which a terminal would execute."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # Python counts spaces of other widths as unprintable; terminals show them.
    return char if char.isspace() and ord(char) > 0xA0 and ord(char) not in (0x2028, 0x2029) else repr(char)[1:-1]
