"""The table formats, one row each, and the opening of a table to write. A library is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph.errors import AlreadyExistsError, Hint, UsageError
from omnigraph.lake.targets import TablePlace, TableTarget

OpenTarget = Callable[[TablePlace, pa.Schema, bool], TableTarget]
"""Opens a table to write; true if there is one already, whose rows are replaced."""


def _iceberg() -> OpenTarget:
    from omnigraph.lake.iceberg import open_target

    return open_target


def _delta() -> OpenTarget:
    from omnigraph.lake.delta import open_target

    return open_target


@dataclass(frozen=True, slots=True)
class TableFormat:
    """One format; the name of its extra is its own."""

    name: str
    library: str
    mark: str
    """The directory that every table of the format has."""
    opener: Callable[[], OpenTarget]


TABLE_FORMATS: Final = {
    row.name: row
    for row in (
        TableFormat("iceberg", "pyiceberg", "metadata", _iceberg),
        TableFormat("delta", "deltalake", "_delta_log", _delta),
    )
}


def open_target(format: str, place: TablePlace, schema: pa.Schema, *, replace: bool) -> TableTarget:
    """A new table, or with ``replace`` a new version of the table at the place. ``schema`` is a ``lake_schema``."""
    row = TABLE_FORMATS[format]
    opened = require(row)
    level = place.objects().level("")
    exists = row.mark in level.directories
    if (level.files or level.directories) and not exists:
        raise AlreadyExistsError(
            f"{place.address!r} exists already, and is not a table in the format {format}",
            hint="name a new directory",
            path=place.address,
        )
    if exists and not replace:
        new = "name a new directory, or"
        raise AlreadyExistsError(
            f"{place.address!r} exists already",
            hint=Hint(f"{new} pass replace=True to replace its rows", f"{new} pass --replace to replace its rows"),
            path=place.address,
        )
    return opened(place, schema, exists)


def require(format: TableFormat) -> OpenTarget:
    """The opener of a format. Raises UsageError if its library is not installed."""
    with missing_library(format.name):
        return format.opener()


@contextmanager
def missing_library(name: str) -> Iterator[None]:
    """Translate a failed import of the library of a format."""
    format = TABLE_FORMATS[name]
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != format.library:
            raise
        raise UsageError(
            f"the format {format.name} needs {format.library}, which is not installed",
            hint=f'pip install "omnigraph[{format.name}]"',
        ) from error
