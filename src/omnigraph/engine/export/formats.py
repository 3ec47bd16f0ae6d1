"""The formats of exports, one row each; the embedded and the Spark export share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import pyarrow as pa

from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.export.parquet import row_groups, write_groups
from omnigraph.errors import UsageError
from omnigraph.lake.formats import TABLE_FORMATS, require
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.write.csv import is_null_text, write_csv
from omnigraph.rows.write.json import Dates, write_lines


@dataclass(frozen=True, slots=True)
class TextForm:
    """The text of values in a format that has no types of its own. Pickled to executors."""

    dates: Dates = Dates.NUMBER
    null: str = ""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The rows of one type."""

    entity: Entity
    schema: pa.Schema
    """The columns in the order of the schema text. Its metadata states the origin of the rows."""
    batches: Iterable[pa.RecordBatch]
    row_group_bytes: int


Write = Callable[[BinaryIO, FileContent, TextForm], None]
"""Writes the rows of one type to a file."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format: its name, which is also its suffix, and its options."""

    name: str
    write: Write | None
    """The writer of a file; none for a format of tables, which ``lake`` writes."""
    dates: tuple[Dates, ...]
    """Forms of dates, the default first; none for a format with types of its own. CSV has no numbers: the reader could
    not tell days from the form ``YYYYMMDD``."""
    has_nulls: bool = False
    """True if the caller chooses the text of a null."""
    is_text: bool = True

    @property
    def is_table(self) -> bool:
        """True for a format whose tables are directories."""
        return self.write is None

    @property
    def unit(self) -> str:
        """The word for what holds one type."""
        return "table" if self.is_table else "file"

    @property
    def suffix(self) -> str:
        return f".{self.name}"


def _write_jsonl(file: BinaryIO, content: FileContent, form: TextForm) -> None:
    file.writelines(write_lines(content.entity, content.batches, form.dates, is_shown=True))


def _write_csv(file: BinaryIO, content: FileContent, form: TextForm) -> None:
    file.writelines(write_csv(content.entity, content.schema.names, content.batches, form.dates, form.null))


def _write_parquet(file: BinaryIO, content: FileContent, _: TextForm) -> None:
    write_groups(file, content.schema, row_groups(content.batches, content.row_group_bytes))


FORMATS: Final = {
    row.name: row
    for row in (
        ExportFormat("jsonl", _write_jsonl, (Dates.NUMBER, Dates.ISO)),
        ExportFormat("csv", _write_csv, (Dates.ISO,), has_nulls=True),
        ExportFormat("parquet", _write_parquet, (), is_text=False),
        ExportFormat("iceberg", None, (), is_text=False),
        ExportFormat("delta", None, (), is_text=False),
    )
}


def _export_format(name: object) -> ExportFormat:
    """The format of a name."""
    if isinstance(name, str) and name in FORMATS:
        return FORMATS[name]
    hint = did_you_mean(str(name), FORMATS) or f"use one of {', '.join(FORMATS)}"
    raise UsageError(f"unknown export format {name!r}", hint=hint)


def _dates_form(format: ExportFormat, dates: object) -> Dates:
    """The form of dates that the caller chose, or the default of the format."""
    if dates is None:
        return next(iter(format.dates), Dates.NUMBER)
    found = [form for form in Dates if form.value == dates]
    if not found:
        raise UsageError(f"unknown form of dates {dates!r}", hint="use iso or number")
    if found[0] not in format.dates:
        has = "dates as ISO 8601 text" if format.dates else "dates of their own"
        raise UsageError(f"{format.name} {format.unit}s have {has}", hint="leave out the form of dates")
    return found[0]


def _null_text(format: ExportFormat, null: object) -> str:
    """The text of nulls that the caller chose, if the format has one."""
    if null is None:
        return ""
    if not format.has_nulls:
        raise UsageError(f"{format.name} {format.unit}s have nulls of their own", hint="leave out the text of nulls")
    if isinstance(null, str) and is_null_text(null):
        return null
    raise UsageError(
        f"{null!r} cannot stand for null in a CSV file",
        hint="use a text without commas, quotes, line ends and outer spaces, such as NULL",
    )


@dataclass(frozen=True)
class ExportSettings:
    """The choices of the caller."""

    format: ExportFormat
    form: TextForm
    replace: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, format: str, dates: str | None, null: str | None, *, replace: bool, options: Mapping[str, str]
    ) -> ExportSettings:
        """Validated settings."""
        chosen = _export_format(format)
        if chosen.is_table:
            require(TABLE_FORMATS[chosen.name])
        return cls(chosen, TextForm(_dates_form(chosen, dates), _null_text(chosen, null)), replace, options)
