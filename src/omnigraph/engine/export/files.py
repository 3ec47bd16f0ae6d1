"""The embedded export: one file or table for each type, streamed from storage, so that memory does not grow.

A file appears when it is complete, and the rows of a table all together. Rows are in storage order.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from omnigraph.core.actors import Action
from omnigraph.engine.export.formats import FORMATS, ExportFormat, ExportSettings
from omnigraph.engine.export.origin import Origin
from omnigraph.engine.export.result import ExportedFile, ExportResult
from omnigraph.engine.export.writing import Progress, TypeRows, write_rows
from omnigraph.engine.names import name_list
from omnigraph.engine.query.table_names import table_names
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import AlreadyExistsError, Hint, UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.target_files import write_file

SCHEMA_FILE = "schema.pg"


def export_files(
    snapshot: Snapshot,
    target: str | os.PathLike[str],
    types: Sequence[str] | str | None,
    settings: ExportSettings,
    progress: Progress | None = None,
) -> ExportResult:
    """Write one file or table for each type into a directory; or only one type, if the target has its suffix."""
    snapshot.require(Action.EXPORT)
    entities = chosen_entities(snapshot, types)
    place = os.fspath(target)
    check_suffix(place, settings.format)
    run = _Export(snapshot, settings, progress, Origin.of(snapshot))
    if place.endswith(settings.format.suffix):
        files = [run.file(place, only_type(entities, settings.format))]
    else:
        files = run.directory(place, entities)
    return ExportResult(place, settings.format.name, snapshot.commit_id, tuple(files))


def export_type(
    snapshot: Snapshot, types: Sequence[str], settings: ExportSettings, file: BinaryIO, progress: Progress | None = None
) -> ExportedFile:
    """Write one type to an open file, such as standard output."""
    entity = only_type(chosen_entities(snapshot, types or None), settings.format)
    return _Export(snapshot, settings, progress, Origin.of(snapshot)).write(file, entity, "")


def _replacement(kind: str) -> Hint:
    new = f"name a new {kind}, or"
    return Hint(f"{new} pass replace=True to replace files", f"{new} pass --replace to replace files")


def check_suffix(place: str, format: ExportFormat) -> None:
    """Refuse a name that says another format than the one that is written."""
    suffix = os.path.splitext(place)[1].lower()
    if suffix != format.suffix and suffix in {other.suffix for other in FORMATS.values()}:
        raise UsageError(
            f"{place!r} has the suffix of another format than {format.name}",
            hint=f"name it {os.path.splitext(place)[0]}{format.suffix}, or choose the format {suffix[1:]}",
            path=place,
        )


def chosen_entities(snapshot: Snapshot, types: Sequence[str] | str | None) -> list[Entity]:
    """The types by name, without repetition; all types by default."""
    if types is None:
        return snapshot.entities()
    found = [entity for name in name_list(types, "type") for entity in snapshot.entities(name)]
    return list({entity.table_key: entity for entity in found}.values())


def only_type(entities: Sequence[Entity], format: ExportFormat) -> Entity:
    """The single type of a file that can hold no more."""
    if len(entities) != 1:
        raise UsageError(
            f"a {format.name} {format.unit} holds one type, not {len(entities)}",
            hint=Hint(
                f'name one type, types="Person", or a directory, which gets one {format.unit} for each type',
                f"name one type with --type, or a directory with --out, which gets one {format.unit} for each type",
            ),
        )
    return entities[0]


def write_schema(snapshot: Snapshot, place: str, settings: ExportSettings) -> None:
    """Begin the directory of an export with the schema; without ``replace`` it must be new or empty."""
    root = parse_root(place)
    objects = open_objects(root, settings.options, Durability.OS)
    level = objects.level("")
    if root.path is not None and os.path.isfile(root.path):
        raise AlreadyExistsError(f"{place!r} is a file", hint="name a directory", path=place)
    if (level.files or level.directories) and not settings.replace:
        raise AlreadyExistsError(f"{place!r} exists already", hint=_replacement("directory"), path=place)
    objects.replace(SCHEMA_FILE, snapshot.schema_text().encode())


@dataclass
class _Export:
    snapshot: Snapshot
    settings: ExportSettings
    progress: Progress | None
    origin: Origin
    rows: int = 0

    def directory(self, place: str, entities: Sequence[Entity]) -> list[ExportedFile]:
        """One file for each type, and the schema."""
        write_schema(self.snapshot, place, self.settings)
        base = place.rstrip("/")
        named = table_names(entities)
        if self.settings.format.is_table:
            return [self._table(f"{base}/{name}", entity) for name, entity in named.items()]
        suffix = self.settings.format.suffix
        return [self._complete(f"{base}/{name}{suffix}", entity) for name, entity in named.items()]

    def file(self, place: str, entity: Entity) -> ExportedFile:
        """One file or table."""
        if self.settings.format.is_table:
            return self._table(place, entity)
        directory, _, name = place.rpartition("/")
        objects = open_objects(
            parse_root(directory or ("/" if place.startswith("/") else ".")), self.settings.options, Durability.OS
        )
        if not self.settings.replace and objects.size(name) is not None:
            raise AlreadyExistsError(f"{place!r} exists already", hint=_replacement("file"), path=place)
        return self._complete(place, entity)

    def _complete(self, place: str, entity: Entity) -> ExportedFile:
        with write_file(place, self.settings.options) as file:
            return self.write(file, entity, place.rpartition("/")[2])

    def _table(self, place: str, entity: Entity) -> ExportedFile:
        from omnigraph.engine.export.tables import TableExport

        rows, path = TypeRows(self.snapshot, entity, self.origin), place.rpartition("/")[2]
        table = TableExport.begin(rows, self.settings, place, path.removesuffix(self.settings.format.suffix))
        with table.writing():
            return table.commit(table.files.write(rows, progress=self._count()), path)

    def write(self, file: BinaryIO, entity: Entity, path: str) -> ExportedFile:
        """The rows of a type, in an open file."""
        rows = TypeRows(self.snapshot, entity, self.origin)
        return write_rows(rows, self.settings, file, path, progress=self._count())

    def _count(self) -> Progress:
        """Progress of one type, added to that of the types before it."""
        before = self.rows

        def count(rows: int) -> None:
            self.rows = before + rows
            if self.progress is not None:
                self.progress(self.rows)

        return count
