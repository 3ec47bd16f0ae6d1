"""Export on a cluster: every task writes the rows of some fragments to one file.

The formats are those of the embedded export. Files are written atomically, so a lost attempt leaves no partial file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.core.actors import Action
from omnigraph.engine.export.files import SCHEMA_FILE, chosen_entities, write_schema
from omnigraph.engine.export.formats import ExportSettings
from omnigraph.engine.export.origin import Origin
from omnigraph.engine.export.result import ExportedFile
from omnigraph.engine.export.tables import TableExport, TableFiles
from omnigraph.engine.export.writing import TypeRows, write_rows
from omnigraph.engine.graph import Graph
from omnigraph.engine.query.table_names import table_names
from omnigraph.errors import UsageError
from omnigraph.lake.targets import WrittenFile
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.objects.target_files import TargetDirectory
from omnigraph.storage.tables.scan import fragment_groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class _FileExport:
    rows: TypeRows
    path: str


@dataclass(frozen=True, slots=True)
class _TablePart:
    """Some rows of a table: the number of the table among all, and that of the part in it."""

    rows: TypeRows
    files: TableFiles
    table: int
    part: int


def export(
    graph: Graph,
    directory: str | os.PathLike[str],
    format: str = "jsonl",
    *,
    branch: str | None = None,
    at: str | datetime | None = None,
    types: Sequence[str] | None = None,
    dates: str | None = None,
    null: str | None = None,
    replace: bool = False,
    spark: SparkSession | None = None,
    target_options: Mapping[str, str] | None = None,
) -> list[ExportedFile]:
    """Export a snapshot of the graph, with its schema, to a new directory.

    The directory is on a disk that executors share, or in an object store (``s3://bucket/prefix``), whose options are
    ``target_options``, or those of the graph if not given. Loading the files into a graph with that schema gives an
    equal graph. ``format``, ``dates`` and ``null`` are those of ``Graph.export_files``. Of the formats that are tables
    (``iceberg``, ``delta``), ``replace`` replaces the rows of tables that exist.
    """
    options = graph.storage_options if target_options is None else target_options
    settings = ExportSettings.of(format, dates, null, replace=replace, options=options)
    if replace and not settings.format.is_table:
        raise UsageError(
            f"tasks do not replace {format} files: those of an earlier export could remain",
            hint="export to a new directory, or as tables: iceberg, delta",
        )
    running = session() if spark is None else check_session(spark)
    snapshot = graph.snapshot(branch, at=at)
    snapshot.require(Action.EXPORT)
    target = TargetDirectory.at(os.fspath(directory), options)
    origin = Origin.of(snapshot)
    types_rows = [TypeRows(snapshot, entity, origin) for entity in chosen_entities(snapshot, types)]
    step = f"Omnigraph: export {snapshot.store.root}, commit {snapshot.commit_id}: {format}"
    if settings.format.is_table:
        with described(running, step):
            return _export_tables(running, settings, target, types_rows)
    exports = [
        _FileExport(part, f"{rows.entity.table_key.replace(':', '-')}-{number:05d}.{format}")
        for rows in types_rows
        for number, part in enumerate(_parts(rows))
    ]
    target.create(SCHEMA_FILE, snapshot.schema_text().encode())
    with described(running, step):
        return list(run_tasks(running, partial(_write, settings, target), exports))


def _parts(rows: TypeRows) -> Iterator[TypeRows]:
    """The rows of a type as tasks share them out."""
    store, pin = rows.snapshot.store, rows.snapshot.state.tables[rows.entity.table_key]
    for fragments in fragment_groups(store, pin, store.tuning.partition_rows):
        yield dataclasses.replace(rows, fragments=fragments)


def _write(settings: ExportSettings, target: TargetDirectory, file_export: _FileExport) -> ExportedFile:
    with target.writing(file_export.path) as file:
        return write_rows(file_export.rows, settings, file, file_export.path)


def _export_tables(
    spark: SparkSession, settings: ExportSettings, target: TargetDirectory, types_rows: Sequence[TypeRows]
) -> list[ExportedFile]:
    """One table for each type; all files are written by one job, and each table is committed by the driver."""
    write_schema(types_rows[0].snapshot, target.path, settings)
    names = {entity.table_key: name for name, entity in table_names([rows.entity for rows in types_rows]).items()}
    with ExitStack() as writing:
        exports: list[tuple[str, TableExport]] = []
        parts: list[_TablePart] = []
        for number, rows in enumerate(types_rows):
            name = names[rows.entity.table_key]
            table = TableExport.begin(rows, settings, f"{target.path}/{name}", name)
            writing.enter_context(table.writing())
            exports.append((name, table))
            parts += [_TablePart(part, table.files, number, place) for place, part in enumerate(_parts(rows))]
        written = run_tasks(spark, _write_part, parts)
        files: list[list[WrittenFile]] = [[] for _ in exports]
        for part, of_part in zip(parts, written, strict=True):
            files[part.table] += of_part
        return [table.commit(files[number], name) for number, (name, table) in enumerate(exports)]


def _write_part(part: _TablePart) -> list[WrittenFile]:
    return part.files.write(part.rows, part.part)
