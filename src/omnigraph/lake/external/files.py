"""Parquet files of external tables: opening one that is still the sealed one, its footer, and its columns.

A file of an external table belongs to another program, which may replace it at any time. So every read compares size
and stamp, and fails rather than return rows of another file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.errors import Hint, InputError, NotFoundError, OmnigraphError, SourceChanged, StorageError, UsageError
from omnigraph.storage.objects.outside_files import SourceFile
from omnigraph.storage.objects.source_files import RangeFile, open_ranges
from omnigraph.storage.objects.uri import is_remote

if TYPE_CHECKING:
    import pyarrow.parquet as pq

READ_BYTES: Final = 1024 * 1024
"""Bytes of one read from a bucket, at least: footers are read in one request."""

FOOTERS_MAX: Final = 4096
"""Footers cached per process: those of a table with many files would otherwise be read by every scan."""

_footers: Lru[tuple[str, int, str], pq.FileMetaData] = Lru(FOOTERS_MAX)

REFRESH: Final = Hint(
    "graph.refresh_external() seals the present files; earlier commits stay unreadable for this type",
    "omnigraph external refresh seals the present files; earlier commits stay unreadable for this type",
)


class Numbered(Protocol):
    """A column to read: its name, and its number in files that number their columns."""

    @property
    def source(self) -> str | None: ...
    @property
    def number(self) -> int | None: ...


@dataclass(frozen=True)
class ParquetRows:
    """An open Parquet file."""

    name: str
    _file: pq.ParquetFile

    @property
    def footer(self) -> pq.FileMetaData:
        return self._file.metadata

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema_arrow

    def name_of(self, column: Numbered) -> str | None:
        """The name that a column has in this file; None if the file does not have it."""
        numbers = {number: field.name for field in self.schema if (number := _number(field)) is not None}
        if column.number is not None and numbers:
            return numbers.get(column.number)
        return column.source if column.source in self.schema.names else None

    def batches(self, groups: Sequence[int], columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Columns of some row groups, in order."""
        with _translated(self.name):
            yield from self._file.iter_batches(batch_rows, row_groups=list(groups), columns=list(columns))

    def group(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Columns of some row groups as one table."""
        with _translated(self.name):
            return self._file.read_row_groups(list(groups), columns=list(columns))


def _number(field: pa.Field) -> int | None:
    number = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if number is None else int(number)


@contextmanager
def open_rows(file: SourceFile, table: str) -> Iterator[ParquetRows]:
    """A file while it is read; raises SourceChanged if it is not the one that was sealed. ``table`` is for messages."""
    import pyarrow.parquet as pq

    key = (file.address, file.size, file.stamp)
    with ExitStack() as stack:
        source = stack.enter_context(_opened(file, table))
        with _translated(file.address):
            # Reading ahead saves requests to a bucket; on a disk it costs memory.
            opened = pq.ParquetFile(source, metadata=_footers.get(key), pre_buffer=is_remote(file.address))
        _footers.put(key, opened.metadata)
        yield ParquetRows(file.address, opened)


@contextmanager
def _opened(file: SourceFile, table: str) -> Iterator[pa.NativeFile]:
    if is_remote(file.address):
        try:
            with open_ranges(file) as read:
                yield pa.PythonFile(io.BufferedReader(RangeFile(read, file.size), READ_BYTES), mode="r")
        except NotFoundError as error:
            raise missing(file, table) from error
        except InputError as error:
            raise changed(file, table) from error
        return
    _check_local(file, table)
    # Read by Arrow itself: through a file of Python every read would wait for the interpreter.
    with pa.OSFile(file.address, "rb") as opened:
        yield opened
    # The file may have been replaced between the first look and the opening, or written meanwhile.
    _check_local(file, table)


def _check_local(file: SourceFile, table: str) -> None:
    try:
        status = os.stat(file.address)
    except FileNotFoundError as error:
        raise missing(file, table) from error
    except OSError as error:
        raise StorageError(
            f"{file.address!r}, a file of {table}, cannot be read: {error.strerror}",
            hint="check its permissions",
            path=file.address,
        ) from error
    if (status.st_size, str(status.st_mtime_ns)) != (file.size, file.stamp):
        raise changed(file, table)


def changed(file: SourceFile, table: str) -> SourceChanged:
    """The error for a file with other content."""
    return SourceChanged(
        f"{file.address!r} changed after it was sealed for {table}", hint=REFRESH, path=file.address, table=table
    )


def missing(file: SourceFile, table: str) -> SourceChanged:
    """The error for a file that is gone."""
    return SourceChanged(
        f"{file.address!r}, which was sealed for {table}, does not exist", hint=REFRESH, path=file.address, table=table
    )


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except OmnigraphError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(
            f"{path!r} is not a complete Parquet file: {str(error).partition(chr(10))[0]}",
            hint="name Parquet files only, after they are written",
            path=path,
        ) from error
