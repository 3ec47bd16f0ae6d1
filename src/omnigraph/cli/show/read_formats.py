"""Output formats of query rows: CSV and JSON lines are exact, tables and key-value lists fit a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size

from omnigraph.rows.results import result_rows
from omnigraph.wire.results import metadata_json

if TYPE_CHECKING:
    from omnigraph.engine.query.result import QueryResult

COLUMN_WIDTH_MAX = 80
"""Cells of a table on a terminal wider than this are cut or wrapped, unless the operator has set another width."""

_ELLIPSIS = "…"


def table_lines(result: QueryResult, width: int = COLUMN_WIDTH_MAX, *, wrap: bool = False) -> Iterator[str]:
    """A summary line, the column names, a rule, and the rows."""
    yield header(result)
    fit = partial(_wrapped if wrap else _cut, width=width)
    names = [_cut(_visible(name), width)[0] for name in result.columns]
    rows = [[fit(_visible(_text(cell))) for cell in row.values()] for row in _rows(result)]
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


def kv_lines(result: QueryResult) -> Iterator[str]:
    """A summary line, then every row as lines of column and value."""
    yield header(result)
    if not len(result):
        yield "(no rows)"
    for number, row in enumerate(_rows(result), 1):
        if number > 1:
            yield ""
        yield f"row {number}"
        for name, cell in row.items():
            yield f"{_visible(name)}: {_visible(_text(cell))}"


def header(result: QueryResult) -> str:
    """The summary line: number of rows, branch or snapshot, query."""
    place = f"branch {result.branch}" if result.branch else f"snapshot {result.commit_id}"
    known = f" from {place}" if result.branch or result.commit_id else ""
    return f"{len(result)} rows{known} via {result.query_name}"


def csv_lines(result: QueryResult) -> Iterator[str]:
    """The column names and the rows; null is written as ``null``."""
    yield ",".join(map(_csv_cell, result.columns))
    for row in _rows(result):
        yield ",".join(_csv_cell(_text(cell)) for cell in row.values())


def _csv_cell(text: str) -> str:
    if any(char in text for char in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def jsonl_lines(result: QueryResult) -> Iterator[str]:
    """A metadata document, then one document per row."""
    yield _compact(metadata_json(result))
    for row in _rows(result):
        yield _compact(row)


def _rows(result: QueryResult) -> Iterator[dict[str, Any]]:
    for batch in result.to_batches():
        yield from result_rows(batch)


def _text(cell: object) -> str:
    return cell if isinstance(cell, str) else _compact(cell)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _visible(text: str) -> str:
    """One line without control characters, which a terminal would execute."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # Python counts spaces of other widths as unprintable; terminals show them.
    return char if char.isspace() and ord(char) > 0xA0 and ord(char) not in (0x2028, 0x2029) else repr(char)[1:-1]
