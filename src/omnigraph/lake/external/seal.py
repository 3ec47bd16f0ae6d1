"""Seals: the version of an external table that a commit pins.

A seal lists the files that hold the rows, each with its size and stamp, and the columns that they are read as. It is
stored in the graph under a number that is a digest of its content, so equal states of a source have equal pins, on
every branch. Rows are numbered in the order of the list. Credentials are no part of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from omnigraph.core.tables import TablePin
from omnigraph.errors import InputError
from omnigraph.schema.ir import ExternalFormat
from omnigraph.schema.json_form import property_type_json
from omnigraph.schema.json_reader import property_type
from omnigraph.schema.types import PropertyType
from omnigraph.storage.objects.outside_files import SourceFile
from omnigraph.storage.objects.sealed import damaged, seal, unseal
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.row_layout import Rows

FRAGMENT_ROWS: Final = 1024 * 1024
"""Rows from which a fragment ends with its row group: enough for a task of Spark, few enough to cache a column of."""


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A Parquet file. ``path`` is relative to the root of the seal; a file outside the root has its address."""

    path: str
    size: int
    stamp: str
    groups: tuple[int, ...]
    """Rows of its row groups."""
    constants: tuple[tuple[str, str | None], ...] = ()
    """Columns that the file does not have because all rows share one value, as text: those of its partition."""
    dead: str = ""
    """Offsets of deleted rows, packed; empty if there are none."""

    @property
    def rows(self) -> int:
        """With the deleted ones."""
        return sum(self.groups)

    def dead_offsets(self) -> Rows:
        """Offsets of deleted rows, ascending."""
        return unpacked(self.dead)


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of the type, and the column of the files that it is read from.

    A property has its id, and ``type``. The ends of an edge have as ``type`` that of the key of their node. The source
    of an ``id`` is None if it is derived from the key or from the place of the row; that of any other column if the
    files do not have it: it is null. ``number`` is the column's number in files that number their columns.
    """

    name: str
    type: PropertyType
    property_id: int | None = None
    source: str | None = None
    number: int | None = None


@dataclass(frozen=True)
class Seal:
    """One version of an external table."""

    address: str
    format: ExternalFormat
    version: str | None
    """The snapshot or version of an Iceberg or Delta table."""
    root: str
    files: tuple[SealedFile, ...]
    columns: tuple[SealedColumn, ...]
    key: tuple[str, ...]
    """Columns that ids are derived from."""

    @cached_property
    def rows(self) -> int:
        return sum(file.rows - len(file.dead_offsets()) for file in self.files)

    @cached_property
    def content(self) -> bytes:
        """The stored form."""
        return seal(_to_json(self))

    @cached_property
    def number(self) -> int:
        """The version of the pin."""
        return int.from_bytes(hashlib.sha256(self.content).digest()[:8])

    @cached_property
    def reading(self) -> str:
        """A digest of the columns: files that are read as other columns have other values."""
        form = [[_column_json(column) for column in self.columns], list(self.key)]
        return hashlib.sha256(json.dumps(form).encode()).hexdigest()[:16]

    def source_file(self, file: SealedFile, options: Mapping[str, str]) -> SourceFile:
        """A file to read."""
        is_outside = file.path.startswith("/") or "://" in file.path
        address = file.path if is_outside else f"{self.root}{file.path}"
        return SourceFile(address, address, file.size, file.stamp, options if "://" in address else {})

    def chunks(self) -> Iterator[Chunk]:
        """The fragments of the table, in order."""
        number = 0
        for file in self.files:
            start = first = 0
            for place in range(len(file.groups)):
                rows = sum(file.groups[first : place + 1])
                if rows >= FRAGMENT_ROWS or place + 1 == len(file.groups):
                    if rows:
                        yield Chunk(number, file, range(first, place + 1), start, rows)
                        number += 1
                    start, first = start + rows, place + 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive row groups of a file: a fragment of the table. ``start`` is the offset of its first row."""

    number: int
    file: SealedFile = field(repr=False)
    groups: range
    start: int
    rows: int

    def dead(self) -> Rows:
        """Offsets of deleted rows in the fragment, ascending."""
        offsets = self.file.dead_offsets()
        low, high = np.searchsorted(offsets, (self.start, self.start + self.rows))
        found: Rows = offsets[low:high] - self.start
        return found

    def group_starts(self) -> Iterator[tuple[int, int, int]]:
        """Number, offset in the fragment, and rows of every row group."""
        offset = 0
        for group in self.groups:
            yield group, offset, self.file.groups[group]
            offset += self.file.groups[group]


def packed(offsets: Rows) -> str:
    """Ascending offsets as text: differences, compressed."""
    if not len(offsets):
        return ""
    steps = np.diff(offsets, prepend=0).astype("<u4").tobytes()
    return base64.b64encode(zlib.compress(steps, 9)).decode()


def unpacked(text: str) -> Rows:
    """The offsets of a packed text."""
    steps = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4") if text else np.zeros(0, "<u4")
    return np.cumsum(steps, dtype=np.int64)


def read_seal(content: bytes, pin: TablePin) -> Seal:
    """The seal of a pin; raises CorruptionError if the file is damaged or holds another seal."""
    path = manifest_file(pin.location, pin.lance_version)
    fields = unseal(content, path)
    try:
        found = _from_json(fields)
    except (InputError, LookupError, ValueError, TypeError) as error:
        raise damaged(path, f"it cannot be read ({error!r})") from error
    if found.number != pin.lance_version:
        raise damaged(path, "its digest is not its name")
    return found


def _to_json(value: Seal) -> dict[str, Any]:
    return {
        "address": value.address,
        "format": value.format.value,
        "version": value.version,
        "root": value.root,
        "key": list(value.key),
        "columns": [_column_json(column) for column in value.columns],
        "files": [_file_json(file) for file in value.files],
    }


def _column_json(column: SealedColumn) -> list[Any]:
    return [column.name, column.property_id, property_type_json(column.type), column.source, column.number]


def _file_json(file: SealedFile) -> list[Any]:
    constants = [list(pair) for pair in file.constants]
    return [file.path, file.size, file.stamp, list(file.groups), constants, file.dead]


def _from_json(fields: Mapping[str, Any]) -> Seal:
    return Seal(
        fields["address"],
        ExternalFormat(fields["format"]),
        fields["version"],
        fields["root"],
        tuple(
            SealedFile(path, size, stamp, tuple(groups), tuple((name, value) for name, value in constants), dead)
            for path, size, stamp, groups, constants, dead in fields["files"]
        ),
        tuple(
            SealedColumn(name, property_type(type_, f"type of {name}"), property_id, source, number)
            for name, property_id, type_, source, number in fields["columns"]
        ),
        tuple(fields["key"]),
    )
