"""Sources of a load, each read into typed rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

import pyarrow as pa

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.minting import MintIds
from omnigraph.rows.read_arrow import as_reader, from_arrow
from omnigraph.rows.read_json import read_lines, read_objects
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.objects.outside_files import SourceFile, unreadable
from omnigraph.storage.objects.source_files import find_files, open_ranges
from omnigraph.storage.objects.uri import is_remote

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
"""A path or an address (``s3://...``), several of them or an open file of JSON lines, records in that shape, what
speaks the Arrow stream protocol, or a table of that kind for each of several types."""

READ_BYTES = 4 * 1024 * 1024


def read(
    data: Loadable,
    catalog: Catalog,
    type_name: str | None,
    mint_ids: MintIds,
    violations: Violations,
    options: Mapping[str, str],
) -> Iterator[tuple[str, TypedRows]]:
    """The rows of a source, or of several files one after the other, each with the source's name for messages.

    ``options`` are those of the object store that files may be in.
    """
    parts = [(file, type_name) for given in _parts(data) for file in _found(given, options)]
    if isinstance(data, Mapping):
        parts = _tables(data, type_name)
    for part, type_ in parts:
        name, rows = _read_one(part, catalog, type_, mint_ids, violations)
        for typed in rows:
            yield name, typed


def _parts(data: Loadable) -> Sequence[Loadable]:
    is_paths = isinstance(data, list | tuple) and all(isinstance(part, str | os.PathLike) for part in data)
    return cast("Sequence[Loadable]", data) if is_paths else [data]


def _tables(data: Mapping[str, Any], type_name: str | None) -> list[tuple[Loadable, str | None]]:
    """The tables of several types."""
    if not all(map(_is_table, data.values())):
        raise UsageError(
            "a mapping holds a table for each type",
            hint='like {"Person": people, "Knows": knows}; a single record goes into a list',
        )
    if type_name is not None:
        raise UsageError("each table has its type already", hint="leave out type_name")
    return [(table, name) for name, table in data.items()]


def _is_table(data: object) -> bool:
    return isinstance(data, pa.Table | pa.RecordBatchReader | pa.RecordBatch) or hasattr(data, "__arrow_c_stream__")


def _found(part: Loadable, options: Mapping[str, str]) -> Sequence[Loadable]:
    """Files in an object store, in place of their address."""
    is_address = isinstance(part, str) and is_remote(part)
    return find_files(cast(str, part), options) if is_address else [part]


def _read_one(
    data: Loadable,
    catalog: Catalog,
    type_name: str | None,
    mint_ids: MintIds,
    violations: Violations,
) -> tuple[str, Iterator[TypedRows]]:
    if isinstance(data, str | os.PathLike | SourceFile):
        name = data.path if isinstance(data, SourceFile) else os.fspath(data)
        chunks = _range_chunks(data) if isinstance(data, SourceFile) else _file_chunks(name)
        return name, read_lines(chunks, catalog=catalog, source=name, mint_ids=mint_ids, violations=violations)
    if hasattr(data, "read"):
        name = str(getattr(data, "name", "<stream>"))
        chunks = _stream_chunks(cast(BinaryIO, data))
        return name, read_lines(chunks, catalog=catalog, source=name, mint_ids=mint_ids, violations=violations)
    if _is_table(data):
        entity = _entity(catalog, type_name)
        name = f"<{entity.name}>"
        reader = as_reader(data)
        return name, from_arrow(entity, reader, source=name, mint_ids=mint_ids, violations=violations)
    records = cast("Iterable[Mapping[str, object]]", data)
    return "<records>", read_objects(
        records, catalog=catalog, source="<records>", mint_ids=mint_ids, violations=violations
    )


def _entity(catalog: Catalog, type_name: str | None) -> Entity:
    if type_name is None:
        raise UsageError("a table has no type of its own", hint='name it: graph.load(table, type_name="Person")')
    found = catalog.node(type_name) or catalog.edge(type_name)
    if found is None:
        hint = did_you_mean(type_name, [*catalog.nodes, *catalog.edges])
        raise NotFoundError(f"there is no type {type_name!r}", hint=hint, type=type_name)
    return found


def _file_chunks(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from _stream_chunks(file)
    except OSError as error:
        raise unreadable(path, error) from error


def _range_chunks(file: SourceFile) -> Iterator[bytes]:
    with open_ranges(file) as read:
        for start in range(0, file.size, READ_BYTES):
            yield read(start, READ_BYTES)


def _stream_chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(READ_BYTES):
        yield chunk
