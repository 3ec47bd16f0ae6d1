"""Iceberg tables without a catalog, through the library pyiceberg.

The metadata of version n is ``metadata/v<n>.metadata.json``; creating the next number is the commit, so of two exports
one fails. ``version-hint.text`` names the newest version for readers that do not list the directory. This is the layout
of Hadoop tables, which Spark, DuckDB and pyiceberg open by path and Trino registers by path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, CreateTableTransaction, StagedTable, Table, Transaction
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.typedef import Record

from omnigraph.errors import AlreadyExistsError, ConflictError, OmnigraphError, StorageError
from omnigraph.lake.iceberg_files import LakeFiles
from omnigraph.lake.targets import TablePlace, TableTarget, WrittenFile
from omnigraph.storage.objects.failures import first_line
from omnigraph.storage.objects.protocol import Objects

HINT: Final = "metadata/version-hint.text"
_VERSION = re.compile(r"metadata/v(\d+)\.metadata\.json")


def _metadata_path(version: int) -> str:
    return f"metadata/v{version}.metadata.json"


@dataclass(frozen=True)
class IcebergTarget:
    """One Iceberg table while it is written: a transaction whose schema is the new one."""

    place: TablePlace
    transaction: Transaction
    replaced: Table | None
    data_directory: str = "data"

    @property
    def schema(self) -> pa.Schema:
        return schema_to_pyarrow(self.transaction.table_metadata.schema(), include_field_ids=True)

    def commit(self, files: Sequence[WrittenFile]) -> None:
        """Write the manifests, then the metadata of the next version."""
        with _translated(self.place.address, "written"):
            update = self.transaction.update_snapshot(snapshot_properties=dict(self.place.facts))
            with update.fast_append() if self.replaced is None else update.overwrite() as snapshot:
                for task in () if self.replaced is None else self.replaced.scan().plan_files():
                    snapshot.delete_data_file(task.file)
                for file in files:
                    snapshot.append_data_file(self._data_file(file))
            self.transaction.commit_transaction()

    def _data_file(self, file: WrittenFile) -> DataFile:
        metadata = self.transaction.table_metadata
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=file.footer,
            stats_columns=compute_statistics_plan(metadata.schema(), metadata.properties),
            parquet_column_mapping=parquet_path_to_id_mapping(metadata.schema()),
        )
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{metadata.location}/{file.path}",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            file_size_in_bytes=file.size,
            spec_id=metadata.default_spec_id,
            **statistics.to_serialized_dict(),
        )


def open_target(place: TablePlace, schema: pa.Schema, exists: bool) -> TableTarget:
    """A table to write."""
    with _translated(place.address, "written"):
        files, columns = LakeFiles(place.options), _columns(schema)
        version = _replaced_version(place) if exists else 0
        catalog = _Directory(place, version)
        if not version:
            metadata = new_table_metadata(
                columns, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, _location(place), dict(place.facts)
            )
            staged = StagedTable(("omnigraph", place.name), metadata, "", files, catalog)
            return IcebergTarget(place, CreateTableTransaction(staged), None)
        current = f"{_location(place)}/{_metadata_path(version)}"
        known = FromInputFile.table_metadata(files.new_input(current))
        table = Table(("omnigraph", place.name), known, current, files, catalog)
        transaction = table.transaction()
        transaction.set_properties(dict(place.facts))
        _change_columns(transaction, columns)
        return IcebergTarget(place, transaction, table)


def _location(place: TablePlace) -> str:
    return place.address if "://" in place.address else f"file://{place.address}"


def _replaced_version(place: TablePlace) -> int:
    version = newest_version(place.objects())
    if version is None:
        raise AlreadyExistsError(
            f"the Iceberg table {place.address!r} belongs to a catalog, which must commit its versions",
            hint="name a new directory",
            path=place.address,
        )
    return version


def newest_version(objects: Objects) -> int | None:
    """The newest version of a table without a catalog; None if its versions are not numbered.

    The hint may be behind, because it is written after the version.
    """
    listed = [_VERSION.fullmatch(file.path) for file in objects.level("metadata").files]
    return max((int(found[1]) for found in listed if found is not None), default=None)


def _columns(schema: pa.Schema) -> Schema:
    """The Iceberg columns of an Arrow schema, numbered from 1."""
    return MetastoreCatalog._convert_schema_if_needed(schema)


def _change_columns(transaction: Transaction, wanted: Schema) -> None:
    """Replace the columns that differ. A column keeps its number, by which files are read, if it is the same."""
    known = {
        field.name: (str(field.field_type), field.required) for field in transaction.table_metadata.schema().fields
    }
    new = {field.name: (str(field.field_type), field.required) for field in wanted.fields}
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name, form in known.items():
            if new.get(name) != form:
                update.delete_column(name)
        for field in wanted.fields:
            if known.get(field.name) != new[field.name]:
                update.add_column(field.name, field.field_type, required=field.required)


class _Directory(NoopCatalog):
    """The catalog of one table: its directory."""

    def __init__(self, place: TablePlace, version: int) -> None:
        super().__init__("directory")
        self._place = place
        self._version = version

    def supports_server_side_planning(self) -> bool:
        return False

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        base = table.metadata if self._version else None
        for requirement in requirements:
            requirement.validate(base)
        metadata = update_table_metadata(
            base or MetastoreCatalog._empty_table_metadata(),
            updates,
            enforce_validation=base is None,
            metadata_location=table.metadata_location or None,
        )
        path, objects = _metadata_path(self._version + 1), self._place.objects()
        if not objects.create(path, metadata.model_dump_json(exclude_none=True).encode()):
            raise ConflictError(
                f"another process changed the Iceberg table {self._place.address!r} during the export",
                hint="export again",
                path=self._place.address,
            )
        objects.replace(HINT, str(self._version + 1).encode())
        return CommitTableResponse(
            metadata=metadata,
            metadata_location=f"{metadata.location}/{path}",  # type: ignore[call-arg] # pydantic knows both names
        )


@contextmanager
def _translated(address: str, what: str) -> Iterator[None]:
    try:
        yield
    except OmnigraphError:
        raise
    except Exception as error:  # the library raises ValueError, KeyError, pydantic's errors and its own
        raise StorageError(
            f"the Iceberg table {address!r} cannot be {what}: {first_line(error)}", path=address
        ) from error


def reading_table(address: str) -> AbstractContextManager[None]:
    """Translate errors of the library while a table is read."""
    return _translated(address, "read")
