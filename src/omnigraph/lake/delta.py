"""Delta tables, through the library deltalake.

One entry of the log creates or replaces a table. It carries the facts in its commit info, which ``DESCRIBE HISTORY``
shows, and in the description of the table: the library writes no table properties of others in the same entry.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from deltalake import CommitProperties, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, create_table_with_add_actions

from omnigraph.errors import ConflictError, StorageError
from omnigraph.lake.targets import TablePlace, TableTarget, WrittenFile
from omnigraph.storage.objects.failures import first_line


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """One Delta table while it is written."""

    place: TablePlace
    schema: pa.Schema
    exists: bool
    data_directory: str = ""

    def commit(self, files: Sequence[WrittenFile]) -> None:
        """Add one entry to the log of the table."""
        now_ms = int(time.time() * 1000)
        added = [
            AddAction(file.path, file.size, {}, now_ms, True, json.dumps({"numRecords": file.rows})) for file in files
        ]
        facts = dict(self.place.facts)
        with _translated(self.place):
            create_table_with_add_actions(
                self.place.address,
                Schema.from_arrow(self.schema),
                added,
                mode="overwrite" if self.exists else "error",
                name=self.place.name,
                description=f"export of {', '.join(f'{name} = {value}' for name, value in facts.items())}",
                storage_options=dict(self.place.options),
                commit_properties=CommitProperties(custom_metadata=facts),
            )


def open_target(place: TablePlace, schema: pa.Schema, exists: bool) -> TableTarget:
    """A table to write."""
    return DeltaTarget(place, schema, exists)


@contextmanager
def _translated(place: TablePlace) -> Iterator[None]:
    try:
        yield
    except CommitFailedError as error:
        raise ConflictError(
            f"another process changed the Delta table {place.address!r} during the export",
            hint="export again",
            path=place.address,
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        raise StorageError(
            f"the Delta table {place.address!r} cannot be written: {first_line(error)}", path=place.address
        ) from error
