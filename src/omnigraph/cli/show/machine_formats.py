"""Output formats of rows for programs: delimited text and JSON. The engine writes Arrow and Parquet.

Every format is written batch by batch, so that a result larger than memory passes through. The layouts of ``csv``,
``json`` and ``jsonl`` are those of Omnigraph 0.10.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.rows.write.results import result_rows
from omnigraph.wire.results import frame_json, metadata_json

if TYPE_CHECKING:
    from omnigraph.engine.query.result import QueryResult

_NO_ROWS: Final = '\n  "rows": []'
"""The rows of an empty document. A text within the document cannot contain it: its line breaks are escaped."""


@dataclass(frozen=True, slots=True)
class Delimited:
    """A delimited text format.

    A text that equals the mark for null is quoted if ``quotes_null_text``, so that readers can tell them apart.
    """

    separator: str
    null: str = "null"
    quotes_null_text: bool = True

    def lines(self, result: QueryResult) -> Iterator[str]:
        """The column names, then the rows."""
        yield self.separator.join(map(self._quoted, result.columns))
        for row in written_rows(result):
            yield self.separator.join(map(self._cell, row.values()))

    def _cell(self, value: object) -> str:
        if value is None:
            return self.null
        text = cell_text(value)
        if self.quotes_null_text and text == self.null:
            return _in_quotes(text)
        return self._quoted(text)

    def _quoted(self, text: str) -> str:
        return _in_quotes(text) if any(char in text for char in f'{self.separator}"\r\n') else text


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


CSV: Final = Delimited(",", quotes_null_text=False)
TSV: Final = Delimited("\t")


def ndjson_lines(result: QueryResult) -> Iterator[str]:
    """One document per row."""
    for batch in result.to_batches():
        yield from map(compact, result_rows(batch))


def jsonl_lines(result: QueryResult) -> Iterator[str]:
    """A metadata document, then one document per row."""
    yield compact(metadata_json(result))
    yield from ndjson_lines(result)


def json_parts(result: QueryResult, *, with_profile: bool, is_ascii: bool) -> Iterator[str]:
    """The pieces of one indented document: the form of ``wire.results.result_json``, without holding all rows."""
    frame = json.dumps(frame_json(result, with_profile=with_profile), indent=2, ensure_ascii=is_ascii)
    before, mark, after = frame.partition(_NO_ROWS)
    if not len(result):
        yield frame
        return
    yield before + mark.removesuffix("]")
    separator = "\n"
    for batch in result.to_batches():
        for row in result_rows(batch):
            yield separator + indent(json.dumps(row, indent=2, ensure_ascii=is_ascii), "    ")
            separator = ",\n"
    yield "\n  ]" + after


def written_rows(result: QueryResult) -> Iterator[dict[str, Any]]:
    """The rows for people and delimited files: 32-bit floats as they were written."""
    for batch in result.to_batches():
        yield from result_rows(batch, shortest_floats=True)


def cell_text(cell: object) -> str:
    """A text as it is, any other value as JSON."""
    return cell if isinstance(cell, str) else compact(cell)


def compact(value: object) -> str:
    """JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
