"""A table of outside data while it is read: its columns, and batches with the place of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph.errors import InputError
from omnigraph.rows.typed_rows import PlacedBatch
from omnigraph.rows.violations import Place

COMPLETE: Final = "check that the file is complete and not damaged"
"""The next step for a file that cannot be read to its end."""

Report = Callable[[int, str], None]
"""Receives the line of a malformed row, and the reason. The row is left out, and reading continues."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of one source. ``batches`` can be read once."""

    name: str
    """Name of the source for messages."""
    schema: pa.Schema
    batches: Iterator[PlacedBatch]
    is_text: bool = False
    """Every column holds text, to be parsed as the type of its property."""
    header_line: int | None = None
    """The line that holds the names of the columns, if there is one."""

    @property
    def header(self) -> Place | None:
        """The place of the names of the columns, in a text file."""
        return None if self.header_line is None else Place(self.name, self.header_line)

    def reader(self) -> pa.RecordBatchReader:
        """The batches without places."""
        return pa.RecordBatchReader.from_batches(self.schema, (placed.batch for placed in self.batches))


def refuse(name: str, hint: str = COMPLETE) -> Report:
    """A report that raises for the first malformed row. The ``hint`` describes a record."""

    def raise_first(line: int, reason: str) -> None:
        raise InputError(f"{name}:{line}: {reason}", hint=hint, path=name, line=line)

    return raise_first
