"""Sources of a load, each read into typed rows: files, tables in memory, records, or several of them by type."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, BinaryIO, Final, TypeAlias, cast

import pyarrow as pa

from omnigraph.engine.load.inferred import is_typed, read_typed
from omnigraph.errors import Hint, NotFoundError, UsageError
from omnigraph.ingest.files.content import Content, open_content
from omnigraph.ingest.files.find import FoundFile, find_sources
from omnigraph.ingest.files.formats import LENIENT, FileFormat, format_of, format_of_name, stem
from omnigraph.ingest.files.json_files import Numbered, array_records, is_array, line_records
from omnigraph.ingest.files.lenient_json import read_lenient
from omnigraph.ingest.frames import is_columns, is_frame, open_frame
from omnigraph.ingest.infer.names import type_name as inferred_name
from omnigraph.ingest.objects import as_items
from omnigraph.ingest.reading import Reading
from omnigraph.ingest.recall import recall_items, recallable_chunks, recallable_records
from omnigraph.ingest.tables import SourceTable
from omnigraph.manifest.layout import STAMP_PATH
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.read.json import read_lines
from omnigraph.rows.typed_rows import TypedRows

Loadable: TypeAlias = (
    str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]]
    | BinaryIO
    | Iterable[Mapping[str, object]]
    | pa.Table
    | pa.RecordBatchReader
    | Mapping[str, Any]
    | Any
)
"""A file, a pattern, a directory or an address (``s3://...``), several of them or an open file; records; a table in
memory; or any of these for each of several types."""

ENVELOPE_KEYS: Final = ("type", "edge")
"""A record has one of these: the name of its type."""

SourcedRows: TypeAlias = tuple[str, TypedRows]


def read(
    data: Loadable, type_name: str | None, reading: Reading, format_name: str | None, options: Mapping[str, str]
) -> Iterator[SourcedRows]:
    """The rows of a source, or of several one after the other, each with the source's name for messages.

    ``options`` are those of the object store that files may be in.
    """
    reading.columns.check(reading.catalog)
    if is_typed(data):
        yield from read_typed(data, reading)
        return
    for part, part_type in _typed_parts(data, type_name, reading):
        for one in _found(part, options):
            yield from _read_one(one, part_type, reading, format_name)


def _typed_parts(data: Loadable, type_name: str | None, reading: Reading) -> Iterator[tuple[Loadable, str | None]]:
    if not isinstance(data, Mapping) or (type_name is not None and is_columns(data)):
        yield from ((part, type_name) for part in _parts(data))
        return
    if _is_record(data, type_name, reading):
        yield [data], type_name
        return
    if not data or not all(map(_is_source, data.values())):
        raise UsageError(
            "a mapping holds a table or a file for each type",
            hint='like {"Person": people, "Knows": "knows.csv"}; columns as lists and a single record need '
            'type_name="Person"',
        )
    if type_name is not None:
        raise UsageError("each table has its type already", hint="leave out type_name")
    unknown = [str(name) for name in data if not isinstance(name, str) or reading.entity_like(name) is None]
    if unknown and is_columns(data) and not any(map(_are_files, data.values())):
        _required(None, reading, f"a table of the columns {', '.join(map(str, data))}")
    if unknown:
        raise _unknown_type(unknown[0], reading)
    for name, given in data.items():
        yield from ((part, name) for part in _parts(given))


def _is_record(data: Mapping[str, Any], type_name: str | None, reading: Reading) -> bool:
    """True for a single record: one in an envelope, or one whose type is named and whose keys are no types."""
    names = {str(name) for name in data}
    if type_name is None:
        return not names.isdisjoint(ENVELOPE_KEYS) and all(isinstance(data.get(key, ""), str) for key in ENVELOPE_KEYS)
    return bool(data) and all(reading.entity_like(name) is None for name in names)


def _are_files(column: object) -> bool:
    """True for a list of files, which looks like a column of texts."""
    is_texts = isinstance(column, list | tuple) and all(isinstance(item, str | os.PathLike) for item in column)
    return is_texts and any(format_of_name(os.fspath(item)) for item in cast("Sequence[str]", column))


def _unknown_type(name: str, reading: Reading) -> NotFoundError:
    """The error for a name in a mapping that is no type: a single record looks like such a mapping."""
    error = reading.no_type(name)
    return NotFoundError(
        error.message,
        hint=Hint(
            f"{error.hint}; a single record needs its type: graph.load({{...}}, type_name=...)",
            error.command_hint or "",
        ),
        type=name,
    )


def _parts(data: Loadable) -> Sequence[Loadable]:
    is_paths = isinstance(data, list | tuple) and data and all(isinstance(part, str | os.PathLike) for part in data)
    return cast("Sequence[Loadable]", data) if is_paths else [data]


def _is_source(data: object) -> bool:
    is_named = isinstance(data, str | os.PathLike | list | tuple) or hasattr(data, "read")
    return is_named or is_frame(data) or is_columns(data) or isinstance(data, Iterator)


def _found(part: Loadable, options: Mapping[str, str]) -> Iterable[Loadable]:
    """The files behind a path; anything else as it is."""
    if not isinstance(part, str | os.PathLike):
        return [part]
    path = os.fspath(part)
    if os.path.isfile(os.path.join(path, STAMP_PATH)):
        raise UsageError(
            f"{path!r} is a graph, not data",
            hint=Hint(
                f"load its export: graph.load(io.BytesIO(b''.join(omnigraph.open({path!r}).export())))",
                f"export it first: omnigraph export {path} > data.jsonl, and load that file",
            ),
            path=path,
        )
    return find_sources(path, options)


def _read_one(
    data: Loadable, type_name: str | None, reading: Reading, format_name: str | None
) -> Iterator[SourcedRows]:
    if isinstance(data, FoundFile) or hasattr(data, "read"):
        file = data if isinstance(data, FoundFile) else None
        with open_content(cast(BinaryIO, data) if file is None else file.source) as content:
            content.name = reading.part(content.name)
            yield from _sourced(content.name, _read_file(content, file, type_name, reading, format_name))
        return
    if is_frame(data) or is_columns(data):
        entity = _required(type_name, reading, "a table")
        name = reading.part(f"<{entity.name}>")
        table = open_frame(data, name)
        if isinstance(table, SourceTable):
            yield from _sourced(name, reading.table(table, entity))
        else:
            yield from _sourced(name, reading.records(_recallable(enumerate(table, 1), name, reading), name, entity))
        return
    items = iter(as_items(data))
    first = next(items, None)
    if is_frame(first):
        for frame in chain([first], items):
            yield from _read_one(frame, type_name, reading, format_name)
        return
    name = reading.part("<records>")
    given = data if isinstance(data, Sequence) else chain([] if first is None else [first], items)
    yield from _sourced(name, _read_records(given, name, type_name, reading))


def _sourced(name: str, rows: Iterator[TypedRows]) -> Iterator[SourcedRows]:
    return ((name, typed) for typed in rows)


def _recallable(records: Iterable[Numbered], source: str, reading: Reading) -> Iterable[Numbered]:
    return records if reading.rejecting is None else recallable_records(records, source, reading.rejecting)


def _read_file(
    content: Content, file: FoundFile | None, type_name: str | None, reading: Reading, format_name: str | None
) -> Iterator[TypedRows]:
    known = format_of(content, format_name)
    hint = None if file is None else file.type_hint
    if known.is_json:
        return _read_json(content, file, known, type_name, reading)
    entity = _entity_of_file(hint or stem(content.name), reading) if type_name is None else None
    entity = entity or _required(type_name, reading, content.name)
    return reading.table(known.open_table(content, reading.report(content.name, entity.table_key, known.shape)), entity)


def _entity_of_file(name: str, reading: Reading) -> Entity | None:
    """The type that a file is named like, or whose name an inferred schema gives it: ``people`` for Person."""
    return reading.entity_like(name) or reading.entity_like(inferred_name(name, is_edge=False))


def _read_json(
    content: Content, file: FoundFile | None, known: FileFormat, type_name: str | None, reading: Reading
) -> Iterator[TypedRows]:
    """JSON lines with envelopes in columns; records without envelopes, and arrays, one at a time."""
    hint = None if file is None else file.type_hint
    rejecting = reading.rejecting
    chunks = content.chunks() if rejecting is None else recallable_chunks(content, file, rejecting)
    entity = reading.entity(type_name) if type_name is not None else reading.entity_like(hint) if hint else None
    report = reading.report(content.name, hint=None if entity is None else known.shape)
    if known.name == LENIENT:
        return read_lenient(
            chunks,
            catalog=reading.catalog,
            source=content.name,
            mint_ids=reading.mint_ids,
            violations=reading.violations,
            omissions=reading.omissions,
        )
    if known.name == "json" and is_array(content):
        return reading.records(array_records(chunks, report), content.name, entity)
    if entity is not None:
        return reading.records(line_records(chunks, report), content.name, entity)
    return read_lines(
        chunks,
        catalog=reading.catalog,
        source=content.name,
        mint_ids=reading.mint_ids,
        violations=reading.violations,
        omissions=reading.omissions,
    )


def _read_records(data: Loadable, source: str, type_name: str | None, reading: Reading) -> Iterator[TypedRows]:
    every: Iterable[Numbered] = enumerate(cast("Iterable[object]", data), 1)
    if reading.rejecting is not None and isinstance(data, Sequence):
        reading.rejecting.recalls[source] = recall_items(data)
    else:
        every = _recallable(every, source, reading)
    return reading.records(every, source, None if type_name is None else reading.entity(type_name))


def _required(type_name: str | None, reading: Reading, what: str) -> Entity:
    if type_name is not None:
        return reading.entity(type_name)
    types = ", ".join([*reading.catalog.nodes, *reading.catalog.edges])
    raise UsageError(
        f"{what} does not name the type of its rows",
        hint=Hint(
            f'name it: graph.load(..., type_name="Person"); the types are {types}',
            f"name it with --type; the types are {types}",
        ),
    )
