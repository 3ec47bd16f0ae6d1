"""Displays of values: one description, shown as plain text and as HTML. Every text is escaped.

A class that users see inherits ``Displayed`` and describes itself in ``_display``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from omnigraph.core.classes.dataclass import dataclass

CELL_CHARS_MAX = 200
"""Characters shown per cell; a document would fill the page."""

ITEMS_MAX = 6
"""Items of a list that are shown; a vector would fill the page."""

TEXT_CHARS_MAX = 60
"""Characters of a cell of a text table: its columns stay side by side."""


@dataclass(frozen=True, slots=True)
class Display:
    """A title, a table and notes below it. ``lines`` replace the table in plain text; ``more`` rows are left out."""

    title: str
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    more: int = 0
    lines: Sequence[str] | None = None
    notes: Sequence[str] = ()

    def text(self) -> str:
        """The title in angle brackets, and a line for each row."""
        lines = text_table(self.headers, self.rows) if self.lines is None else self.lines
        rest = [f"... {self.more:,} more"] if self.more > 0 else []
        return "\n".join([f"<{self.title}>", *(f"  {line}" for line in (*lines, *rest, *self.notes))])

    def html(self) -> str:
        """The title as a paragraph, and a table."""
        notes = "".join(f"<p>{_escape(note)}</p>" for note in self.notes)
        if not self.rows and not self.more:
            return f"<p>{_escape(self.title)}</p>{notes}"
        return html_table(self.title, self.headers, self.rows, self.more) + notes


class Displayed:
    """Something that shows itself at a prompt and in a notebook."""

    __slots__ = ()

    def _display(self) -> Display:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun: ``1 entity``, ``1,200 entities``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def with_article(noun: str) -> str:
    """A noun behind its indefinite article: ``an int``, ``a list``."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def shown_value(value: object, chars_max: int = CELL_CHARS_MAX) -> str:
    """A value in a cell. Long lists keep their first items and say how long they are."""
    text = _shown(value)
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return str(value).lower()
        case bytes():
            return f"{len(value):,} bytes"
        case list() | tuple():
            return _shown_list(value)
        case Mapping():
            return "{" + ", ".join(f"{name}: {_shown(item)}" for name, item in value.items()) + "}"
        case _:
            return str(value)


def _shown_list(items: Sequence[object]) -> str:
    if len(items) <= ITEMS_MAX:
        return f"[{', '.join(map(_shown, items))}]"
    # Most items of a vector are left out, so digits beyond the fourth say nothing.
    first = (f"{item:.4g}" if isinstance(item, float) else _shown(item) for item in items[: ITEMS_MAX - 2])
    return f"[{', '.join(first)}, ... {len(items):,}]"


def text_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Aligned columns below their headers, numbers to the right."""
    if not headers:
        return []
    values = [list(row) for row in rows]
    # The last column has nothing to its right that it could push away.
    widest = [*[TEXT_CHARS_MAX] * (len(headers) - 1), CELL_CHARS_MAX]
    cells = [[shown_value(*cell).replace("\n", " ") for cell in zip(row, widest, strict=True)] for row in values]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    numbers = _number_columns(len(headers), values)

    def line(row: Sequence[str]) -> str:
        parts = zip(row, widths, numbers, strict=True)
        return "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts).rstrip()

    return [line(headers), *map(line, cells)]


def _number_columns(columns: int, rows: Sequence[Sequence[object]]) -> list[bool]:
    """True for each column that holds numbers and nulls only."""
    return [
        bool(rows) and all(row[index] is None or _is_number(row[index]) for row in rows) for index in range(columns)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def html_table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[object]], more: int = 0) -> str:
    """A table below its caption; ``more`` is the number of rows left out. Notebooks align all cells to the right."""
    values = [list(row) for row in rows]
    aligned = [("left", "right")[is_number] for is_number in _number_columns(len(headers), values)]

    def line(tag: str, cells: Iterable[object]) -> str:
        styled = zip(cells, aligned, strict=True)
        return "".join(f'<{tag} style="text-align: {side}">{_escaped(cell)}</{tag}>' for cell, side in styled)

    head, body = line("th", headers), "".join(f"<tr>{line('td', row)}</tr>" for row in values)
    rest = f"<p>... {more:,} more</p>" if more > 0 else ""
    return f"<p>{_escape(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _escape(text: str) -> str:
    # Few processes show HTML.
    import html

    return html.escape(text)


def _escaped(value: object) -> str:
    return _escape(shown_value(value))


def html_text(text: str) -> str:
    """Preformatted text."""
    return f'<pre style="font-family: monospace">{_escape(text)}</pre>'
