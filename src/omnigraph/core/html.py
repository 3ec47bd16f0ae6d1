"""HTML tables for notebooks: a caption, then rows. Every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

CELL_CHARS_MAX = 200
"""Characters shown per cell; a vector or a document would fill the page."""


def html_table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[object]], more: int = 0) -> str:
    """A table below its caption; ``more`` is the number of rows left out."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headers)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    rest = f"<p>... {more:,} more</p>" if more > 0 else ""
    return f"<p>{html.escape(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def html_text(text: str) -> str:
    """Preformatted text."""
    return f"<pre>{html.escape(text)}</pre>"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value:,}</td>'
    text = "" if value is None else str(value)
    shown = text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…"
    return f"<td>{html.escape(shown)}</td>"
