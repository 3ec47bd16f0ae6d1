"""Files and frames of known types as a mapping, so that Spark understands the options of a load in this process.

The columns of a source are matched on the driver, by the same rules and with the same messages; Spark reads the rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from omnigraph.engine.load_options import LoadOptions
from omnigraph.errors import Hint, UsageError
from omnigraph.ingest.columns import constants, match_columns
from omnigraph.ingest.files.content import Content, open_content
from omnigraph.ingest.files.delimited import delimiter_of
from omnigraph.ingest.files.find import FoundFile, find_sources
from omnigraph.ingest.files.formats import FileFormat, format_of, stem
from omnigraph.ingest.files.json_files import array_records, is_array, line_records
from omnigraph.ingest.reading import Reading, has_envelope
from omnigraph.ingest.tables import refuse
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType

SAMPLED_RECORDS = 1_000
"""JSON records whose keys are taken for the columns of a file. Spark reads all of them."""

PEEKED_BYTES = 64 * 1024
"""Bytes of one read on the driver, which looks at the start of a file only."""

Derived = tuple[Mapping[str, Any] | None, Mapping[str, Any]]
"""A mapping, and the frames that it names; no mapping for JSON lines that name their types themselves."""


def derive_mapping(catalog: Catalog, sources: Any, options: LoadOptions, store_options: Mapping[str, str]) -> Derived:
    """The mapping for sources of known types."""
    columns = options.columns()
    columns.check(catalog)
    by_type = sources if isinstance(sources, Mapping) else {options.type_name: sources}
    is_only_type = not isinstance(sources, Mapping)
    reading = Reading(catalog, lambda _: "", Violations(), columns, is_only_type=is_only_type)
    derived = _Deriving(reading, options.format, store_options)
    for type_name, given in by_type.items():
        if given is not None:
            derived.add(given, type_name)
    return derived.result()


class _Deriving:
    """Collects the sources of one load."""

    def __init__(self, reading: Reading, format_name: str | None, store_options: Mapping[str, str]) -> None:
        self._reading = reading
        self._format = format_name
        self._store_options = store_options
        self._sources: dict[str, Any] = {}
        self._frames: dict[str, Any] = {}
        self._entries: list[dict[str, Any]] = []
        self._lines: list[str] = []

    def result(self) -> Derived:
        if self._lines and self._entries:
            raise UsageError(
                f"{self._lines[0]!r} names the types of its records, and other sources do not",
                hint="load them one after the other",
            )
        return ({"sources": self._sources, "load": self._entries} if self._entries else None), self._frames

    def add(self, given: Any, type_name: str | None) -> None:
        if isinstance(given, str | os.PathLike):
            for file in find_sources(given, self._store_options):
                self._add_file(file, type_name)
        elif isinstance(given, list | tuple):
            for path in given:
                self.add(path, type_name)
        else:
            entity = self._reading.entity(type_name or "")
            name = f"source {len(self._entries) + 1}"
            self._frames[name] = given
            self._add_entry(name, entity, list(given.columns))

    def _add_file(self, file: FoundFile, type_name: str | None) -> None:
        with open_content(file.source, PEEKED_BYTES) as content:
            known = format_of(content, self._format)
            named = file.type_hint or (None if known.is_json else stem(file.name))
            entity = self._reading.entity(type_name) if type_name else self._reading.entity_like(named or "")
            names, options = _shape(content, known, entity)
        if names is None:
            self._lines.append(file.name)
            return
        if entity is None:
            raise UsageError(
                f"{file.name} does not name the type of its rows",
                hint=Hint("name it with type_name", "name it with --type"),
            )
        name = f"source {len(self._entries) + 1}"
        kind = {"tsv": "csv", "jsonl": "json"}.get(known.name, known.name)
        self._sources[name] = {"path": file.name, "format": kind, "options": options}
        self._add_entry(name, entity, names)

    def _add_entry(self, source: str, entity: Entity, names: Sequence[str]) -> None:
        own = self._reading.columns.of_type(entity)
        found = match_columns(entity, names, own, self._reading.types, is_only_type=self._reading.is_only_type)
        for problem in found.problems:
            raise UsageError(problem.message, hint=problem.hint, property=problem.column)
        columns: dict[str, Any] = {stored: names[index] for stored, index in found.columns.items()}
        columns |= {stored: {"value": value.as_py()} for stored, value in constants(entity, own).items()}
        entry: dict[str, Any] = {"source": source, "edge" if isinstance(entity, EdgeType) else "node": entity.name}
        typed = ((f"{stored}_type", f"{key}_type") for stored, key in ((SRC, "from"), (DST, "to")))
        for stored, key in ((SRC, "from"), (DST, "to"), (ID, ID), *typed):
            if stored in columns and stored not in entity.properties:
                entry[key] = columns.pop(stored)
        _check_identity(entity, entry, names)
        self._entries.append({**entry, "columns": columns})


def _shape(content: Content, known: FileFormat, entity: Entity | None) -> tuple[Sequence[str] | None, dict[str, str]]:
    """The columns of a file and the options to read it with; None for records that name their types."""
    if known.name == "arrow":
        raise UsageError(f"Spark does not read Arrow files: {content.name}", hint="load it without Spark")
    if not known.is_json:
        first = content.head.lstrip(b"\xef\xbb\xbf\r\n ").partition(b"\n")[0]
        options = {"csv": {"sep": delimiter_of(first).decode()}, "tsv": {"sep": "\t"}}.get(known.name, {})
        return known.open_table(content, refuse(content.name, known.shape)).schema.names, options
    is_whole = known.name == "json" and is_array(content)
    if not is_whole and entity is None:
        return None, {}
    read = array_records if is_whole else line_records
    # Tasks report malformed lines with their places, and a load may reject them.
    records = list(islice(read(content.chunks(), lambda line, reason: None), SAMPLED_RECORDS))
    if not is_whole and (entity is None or all(has_envelope(record, entity) for _, record in records)):
        return None, {}
    names = dict.fromkeys(name for _, record in records if isinstance(record, Mapping) for name in record)
    return list(names), {"multiLine": "true"} if is_whole else {}


def _check_identity(entity: Entity, entry: Mapping[str, Any], names: Iterable[str]) -> None:
    missing = [key for key in ("from", "to") if isinstance(entity, EdgeType) and key not in entry]
    if missing:
        raise UsageError(
            f"no column gives {missing[0]!r}, an end of {entity.name}",
            hint=f"the columns are {', '.join(names)}; name it with map={{{missing[0]!r}: ...}}",
        )
    if isinstance(entity, NodeType) and entity.key and ID in entry:
        raise UsageError(
            f"the id of {entity.name} is derived from its key ({', '.join(entity.key)})",
            hint='leave out the column: ignore=["id"]',
        )
