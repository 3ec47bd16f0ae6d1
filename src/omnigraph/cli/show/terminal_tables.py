"""Tables on a terminal: they fit its width, long cells wrap, numbers are right-aligned, vectors are shortened.

Rows are drawn in blocks, so that the first ones appear before the last ones are computed. A later block may widen the
columns. A table with too many columns for the terminal is drawn as a key-value list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from omnigraph.cli.show.machine_formats import cell_text, written_rows
from omnigraph.cli.show.output import say, wants_colour
from omnigraph.cli.show.read_formats import header, kv_lines, visible
from omnigraph.cli.show.tables import cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from omnigraph.engine.query.result import QueryResult

_BLOCK_ROWS: Final = 500
"""Rows that are measured and drawn together."""
_GAP_CELLS: Final = 2
_NARROWEST_CELLS: Final = 8
"""A column is not made narrower than this; if the columns do not fit then, the rows are drawn as a list."""
_LIST_ITEMS_MAX: Final = 6
"""Longer lists of numbers, such as embeddings, are shortened to their first items and their length."""
_LIST_ITEMS_SHOWN: Final = 3


def draw_rows(result: QueryResult, *, width_max: int | None, wraps: bool) -> None:
    """Draw a result. ``width_max`` limits every column; cells that do not fit are wrapped, or cut."""
    console = _console()
    rows = (list(row.values()) for row in written_rows(result))
    first = list(islice(rows, _BLOCK_ROWS))
    is_number = _numbers(first, len(result.columns))
    texts = map(_texts, chain(first, rows))
    names = [visible(name) for name in result.columns]
    if fitted(_natural(names, list(map(_texts, first)), width_max), is_number, console.width) is None:
        for line in kv_lines(result, shown_text):
            say(line)
        return
    say(header(result))
    _draw(console, names, is_number, texts, width_max, wraps=wraps)


def draw_list(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Draw a list of values whose columns fit any usual terminal."""
    from rich.text import Text

    console = _console()
    is_number = _numbers(rows, len(names))
    cells = [[Text(cell(value)) for value in row] for row in rows]
    _draw(console, names, is_number, iter(cells), None, wraps=True)


def shown_text(value: object) -> str:
    """A value as text; a long list of numbers by its first items and its length."""
    if isinstance(value, list) and len(value) > _LIST_ITEMS_MAX and all(map(_is_number, value)):
        return f"{cell_text(value[:_LIST_ITEMS_SHOWN])[:-1]},… {len(value):,} values]"
    return cell_text(value)


def _texts(row: Sequence[object]) -> list[Text]:
    from rich.text import Text

    return [Text(visible(shown_text(value)), style="dim" if value is None else "") for value in row]


def _numbers(rows: Sequence[Sequence[object]], columns: int) -> list[bool]:
    """True for each column whose values are numbers, apart from nulls."""
    values = [[row[index] for row in rows if row[index] is not None] for index in range(columns)]
    return [bool(column) and all(map(_is_number, column)) for column in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def fitted(natural: Sequence[int], is_number: Sequence[bool], available: int) -> list[int] | None:
    """Widths that fit together: the widest columns give way first, numbers last. None if there are too many columns."""
    room = available - _GAP_CELLS * (len(natural) - 1)
    for rigid in (is_number, [False] * len(natural)):
        fixed = sum(width for width, stays in zip(natural, rigid, strict=True) if stays)
        flexible = [width for width, stays in zip(natural, rigid, strict=True) if not stays]
        cap = _cap(flexible, room - fixed)
        if cap is not None:
            return [width if stays else min(width, cap) for width, stays in zip(natural, rigid, strict=True)]
    return None


def _cap(widths: Sequence[int], room: int) -> int | None:
    """The largest width that every column may have so that all of them fit."""
    cap = max(widths, default=0)
    while sum(min(width, cap) for width in widths) > room:
        if cap <= _NARROWEST_CELLS:
            return None
        cap -= 1
    return cap


def _natural(names: Sequence[str], rows: Sequence[Sequence[Text]], width_max: int | None) -> list[int]:
    from rich.cells import cell_len

    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    widths = [
        max([cell_len(name), *(text.cell_len for text in column)]) for name, column in zip(names, columns, strict=True)
    ]
    return [min(width, width_max or width) for width in widths]


def _draw(
    console: Console,
    names: Sequence[str],
    is_number: Sequence[bool],
    rows: Iterator[Sequence[Text]],
    width_max: int | None,
    *,
    wraps: bool,
) -> None:
    natural = [0] * len(names)
    has_head = True
    while (block := list(islice(rows, _BLOCK_ROWS))) or has_head:
        natural = list(map(max, natural, _natural(names, block, width_max)))
        widths = fitted(natural, is_number, console.width) or natural
        table = _table(names, is_number, widths, has_head, wraps)
        for row in block:
            table.add_row(*row)
        console.print(table)
        has_head = False


def _table(
    names: Sequence[str], is_number: Sequence[bool], widths: Sequence[int], has_head: bool, wraps: bool
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=has_head, pad_edge=False, padding=(0, _GAP_CELLS, 0, 0), header_style="bold")
    for name, right, width in zip(names, is_number, widths, strict=True):
        table.add_column(
            Text(name),
            justify="right" if right else "left",
            width=width,
            no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis",
        )
    return table


def _console() -> Console:
    from rich.console import Console

    # Without a colour system not even bold is written.
    return Console(file=sys.stdout, highlight=False, color_system="auto" if wants_colour(sys.stdout) else None)
