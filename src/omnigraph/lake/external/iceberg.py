"""Iceberg tables as sources: the files of the current snapshot, without rows that position deletes remove.

An address is the directory of a table without a catalog, a metadata file, or ``iceberg://catalog/namespace.table`` for
a catalog that the configuration of pyiceberg names. Without a catalog its directory alone does not tell which metadata
file of a table with one is committed, so such a directory is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import _read_all_delete_files
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.utils.config import Config

from omnigraph.errors import UsageError
from omnigraph.lake.external.found import FoundFile, FoundTable, SourceColumn
from omnigraph.lake.iceberg import newest_version, reading_table
from omnigraph.lake.iceberg_files import LakeFiles, plain_address
from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.source_files import find_files
from omnigraph.storage.tables.row_layout import Rows

CATALOG = "iceberg://"


def find_table(address: str, options: Mapping[str, str]) -> FoundTable:
    """The current snapshot of the table at an address."""
    with reading_table(address):
        table = _table(address, options)
        snapshot = table.current_snapshot()
        tasks = [] if snapshot is None else list(table.scan().plan_files())
        deleted = _deleted(table, tasks)
        files = [_found(table, task.file, deleted, options) for task in tasks]
    columns = {field.name: SourceColumn(field.name, field.field_id) for field in table.schema().fields}
    root = f"{plain_address(table.location()).rstrip('/')}/"
    return FoundTable(root, None if snapshot is None else str(snapshot.snapshot_id), files, columns)


def _table(address: str, options: Mapping[str, str]) -> Table:
    files = LakeFiles(options)
    if address.startswith(CATALOG):
        catalog, _, name = address.removeprefix(CATALOG).partition("/")
        known = load_catalog(catalog, **_settings(catalog)).load_table(name)
        # Our own clients, so that planning needs no other credentials than reading.
        return Table(known.name(), known.metadata, known.metadata_location, files, known.catalog)
    path = address if address.endswith(".metadata.json") else _newest(address, options)
    metadata = FromInputFile.table_metadata(files.new_input(path))
    return Table(("omnigraph", "external"), metadata, path, files, NoopCatalog("external"))


def _settings(catalog: str) -> dict[str, str]:
    """The settings of a catalog. The library itself reads them once, at its import; a service may get them later."""
    found = Config().get_catalog_config(catalog) or {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _newest(address: str, options: Mapping[str, str]) -> str:
    root = address.rstrip("/")
    version = newest_version(open_objects(parse_root(root), options, Durability.OS))
    if version is None:
        raise UsageError(
            f"the Iceberg table {address!r} belongs to a catalog, which knows its newest version",
            hint=f"name the catalog, as in {CATALOG}prod/sales.orders, or one metadata file",
            path=address,
        )
    return f"{root}/metadata/v{version}.metadata.json"


def _deleted(table: Table, tasks: Iterable[FileScanTask]) -> dict[str, Rows]:
    """Offsets of deleted rows by file, ascending."""
    found = _read_all_delete_files(table.io, tasks)
    return {
        path: np.unique(pa.chunked_array([c for a in arrays for c in a.chunks]).to_numpy())
        for path, arrays in found.items()
    }


def _found(table: Table, data: DataFile, deleted: Mapping[str, Rows], options: Mapping[str, str]) -> FoundFile:
    if data.file_format is not FileFormat.PARQUET:
        raise UsageError(
            f"{data.file_path!r} is a file of format {data.file_format.value.lower()}, and only Parquet can be read",
            hint="rewrite the table with write.format.default = parquet",
            path=data.file_path,
        )
    [file] = find_files(plain_address(data.file_path), options)
    dead = deleted.get(data.file_path, np.zeros(0, np.int64)).astype(np.int64)
    return FoundFile(file, _constants(table, data), dead)


def _constants(table: Table, data: DataFile) -> dict[str, str | None]:
    """Values of the columns that a table is partitioned by, for files without these columns."""
    schema: Schema = table.schema()
    found: dict[str, str | None] = {}
    for place, field in enumerate(table.metadata.specs()[data.spec_id].fields):
        if isinstance(field.transform, IdentityTransform) and schema.find_column_name(field.source_id) is not None:
            column, value = schema.find_field(field.source_id), data.partition[place]
            text = None if value is None else field.transform.to_human_string(column.field_type, value)
            found[column.name] = text
    return found
