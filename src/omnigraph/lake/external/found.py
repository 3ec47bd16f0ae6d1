"""A version of a table as its format describes it: the values that the finders of all formats return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from omnigraph.storage.objects.outside_files import SourceFile
from omnigraph.storage.tables.row_layout import Rows

PARQUET_ENDINGS: Final = (".parquet", ".pq", ".parq")


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source as its files know it: by name, and in some formats by number."""

    source: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a source before it is opened."""

    file: SourceFile
    constants: Mapping[str, str | None] = field(default_factory=dict)
    """Values that all of its rows share, by the name that files give the column."""
    dead: Rows = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A version of a table of some format. ``columns`` are those that it declares; Parquet files declare none."""

    root: str
    """The directory of the table, with its slash. Ids of rows without a key hold the paths of files below it."""
    version: str | None
    files: Sequence[FoundFile]
    columns: Mapping[str, SourceColumn] = field(default_factory=dict)
