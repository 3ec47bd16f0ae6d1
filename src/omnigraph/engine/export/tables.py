"""Exports as tables of other formats: Parquet files, streamed, and then one commit of the table.

The embedded export and tasks on Spark write files with the same functions. No reader sees a file before the commit; if
an export fails, the files that it wrote are deleted.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from omnigraph.engine.export.formats import ExportSettings
from omnigraph.engine.export.parquet import row_groups, write_groups
from omnigraph.engine.export.result import ExportedFile
from omnigraph.engine.export.writing import Progress, TypeRows
from omnigraph.errors import ConflictError, StorageError
from omnigraph.lake.columns import lake_schema
from omnigraph.lake.formats import open_target
from omnigraph.lake.targets import TablePlace, TableTarget, WrittenFile
from omnigraph.storage.objects.target_files import TargetDirectory


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The place and the form of a table's files. Pickled to executors."""

    directory: TargetDirectory
    folder: str
    prefix: str
    schema: pa.Schema

    def write(self, rows: TypeRows, part: int = 0, progress: Progress | None = None) -> list[WrittenFile]:
        """Write rows to as many files as their size needs. Parts that are written in parallel have other numbers."""
        directory, tuning = self.directory.below(self.folder), rows.snapshot.store.tuning
        written: list[WrittenFile] = []
        with rows.batches(progress) as batches:
            groups = row_groups(batches, tuning.row_group_bytes)
            for first in groups:
                name = f"{self.prefix}-{part:05d}-{len(written):05d}.parquet"
                with directory.writing(name) as file:
                    size, footer = write_groups(file, self.schema, chain([first], groups), tuning.table_file_bytes)
                written.append(WrittenFile(f"{self.folder}/{name}".lstrip("/"), size, footer))
        return written


@dataclass(slots=True)
class TableExport:
    """One table while it is written."""

    place: TablePlace
    target: TableTarget
    files: TableFiles
    type_name: str
    may_be_committed: bool = False

    @classmethod
    def begin(cls, rows: TypeRows, settings: ExportSettings, address: str, name: str) -> TableExport:
        """Open the table at an address, and check that it may be written."""
        directory = TargetDirectory.at(address, settings.options)
        place = TablePlace(directory.path, name, rows.origin.facts(rows.entity), settings.options)
        target = open_target(settings.format.name, place, lake_schema(rows.schema), replace=settings.replace)
        prefix = f"{rows.origin.commit}-{uuid.uuid4().hex[:8]}"
        files = TableFiles(directory, target.data_directory, prefix, target.schema)
        return cls(place, target, files, rows.entity.name)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The time in which files are written and committed. If it ends with an error, the files are deleted."""
        try:
            yield
        except BaseException:
            if not self.may_be_committed:
                # A store that fails here has failed before: the first error is the one to report.
                with suppress(StorageError):
                    self._discard()
            raise

    def _discard(self) -> None:
        objects = self.place.objects()
        mine = f"{self.files.folder}/{self.files.prefix}".lstrip("/")
        objects.delete_all([path for path, _ in objects.list(self.files.folder) if path.startswith(mine)])

    def commit(self, written: Sequence[WrittenFile], path: str) -> ExportedFile:
        """Make the files the rows of the table. ``path`` is its name in the result."""
        self.may_be_committed = True
        try:
            self.target.commit(written)
        except ConflictError:
            # The only failure that leaves no doubt; after others a version may list the files.
            self.may_be_committed = False
            raise
        rows, size = sum(file.rows for file in written), sum(file.size for file in written)
        return ExportedFile(path, self.type_name, rows, size)
