"""Delta tables as sources: the files of the newest version, without rows that deletion vectors remove."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from omnigraph.errors import NotFoundError, OmnigraphError, StorageError
from omnigraph.lake.external.found import FoundFile, FoundTable, SourceColumn
from omnigraph.storage.objects.failures import first_line
from omnigraph.storage.objects.source_files import find_files
from omnigraph.storage.tables.row_layout import Rows

PHYSICAL_NAME = "delta.columnMapping.physicalName"
"""The name of a column in files of a table that maps its columns."""


def find_table(address: str, options: Mapping[str, str]) -> FoundTable:
    """The newest version of the table at an address."""
    with _translated(address):
        table = DeltaTable(address, storage_options=dict(options) or None)
        fields: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
        names = {field["name"]: field["metadata"].get(PHYSICAL_NAME, field["name"]) for field in fields}
        actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        deleted = _deleted(table)
        uris = table.file_uris()
    files = []
    for uri, action in zip(uris, actions, strict=True):
        place = uri.removeprefix("file://")
        [file] = find_files(place, options)
        values = (action.get("partition") or {}).items()
        constants = {names.get(name, name): _text(value) for name, value in values}
        files.append(FoundFile(file, constants, deleted.pop(place, np.zeros(0, np.int64))))
    if deleted:
        # Never ignored: rows that were deleted would come back.
        raise StorageError(
            f"the Delta table {address!r} deletes rows of an unknown file {min(deleted)!r}", path=address
        )
    columns = {name: SourceColumn(known) for name, known in names.items()}
    return FoundTable(f"{address.rstrip('/')}/", str(table.version()), files, columns)


def _deleted(table: DeltaTable) -> dict[str, Rows]:
    """Offsets of deleted rows by file. Here the library names files by URL, with escapes."""
    found = pa.table(table.deletion_vectors())
    pairs = zip(found.column("filepath").to_pylist(), found.column("selection_vector"), strict=True)
    return {
        unquote(path.removeprefix("file://")): np.flatnonzero(~np.asarray(kept.values, bool)) for path, kept in pairs
    }


def _text(value: object) -> str | None:
    """The value of a partition as text that its type is read from."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


@contextmanager
def _translated(address: str) -> Iterator[None]:
    try:
        yield
    except OmnigraphError:
        raise
    except TableNotFoundError as error:
        raise NotFoundError(
            f"there is no Delta table at {address!r}", hint="check the address", path=address
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        raise StorageError(f"the Delta table {address!r} cannot be read: {first_line(error)}", path=address) from error
