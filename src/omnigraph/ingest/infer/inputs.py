"""Sources of an inference: files, frames, records and NetworkX graphs, each under the name of its type."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

from omnigraph.core.display import with_article
from omnigraph.core.python_values import plain_value
from omnigraph.errors import InputError, UsageError
from omnigraph.ingest.files.find import FoundFile, find_sources
from omnigraph.ingest.files.formats import bare_name, format_of_name, stem
from omnigraph.ingest.frames import is_columns, is_frame
from omnigraph.ingest.infer.facts import Declared
from omnigraph.ingest.infer.gaps import gapped_columns
from omnigraph.ingest.infer.names import is_type_name, type_name
from omnigraph.ingest.infer.neo4j_tables import expand_headers
from omnigraph.ingest.infer.networks import ID, SOURCE, TARGET, is_network, network_tables, read_graphml
from omnigraph.ingest.infer.sources import TableSource, open_data, open_files, open_pieces
from omnigraph.ingest.objects import as_record, class_name, is_object

_NAMED = 'name the types: {"Person": people, "Knows": knows}'
_GRAPHML = ".graphml"


@dataclass(frozen=True, slots=True)
class Named:
    """Data of a type that the caller names, in a list with data whose types are derived."""

    type: str | None
    data: Any


@dataclass
class _Files:
    """Files of one type, in the order in which they were given."""

    given_type: str | None
    found: list[FoundFile] = field(default_factory=list)


def table_sources(data: Any, options: Mapping[str, str]) -> list[TableSource]:
    """The tables in data that a caller gave; ``options`` are those of an object store that holds files."""
    files: dict[str, _Files] = {}
    sources: list[TableSource] = []
    for name, item in _named(data):
        if isinstance(item, str | os.PathLike):
            sources += _add_file(files, name, item, options)
        elif is_network(item):
            sources += _network(item, name or "the NetworkX graph")
        elif isinstance(item, list | tuple) and item and all(isinstance(part, str | os.PathLike) for part in item):
            sources += _add_parts(files, name, item, options)
        else:
            sources.append(_frame(name, item, len(sources) + 1))
    sources += [_file_source(stem_, group) for stem_, group in files.items()]
    if not sources:
        raise UsageError(
            "there is no data to infer a schema from", hint="pass files, or frames by the names of their types"
        )
    return expand_headers(sources)


def _named(data: Any) -> list[tuple[str | None, Any]]:
    """The parts of the data with the names of their types."""
    if isinstance(data, str | os.PathLike) or is_network(data):
        return [(None, data)]
    if isinstance(data, Mapping):
        for name in data:
            if not isinstance(name, str) or not name.strip():
                raise UsageError(f"the name of a type is a text, not {name!r}", hint=_NAMED)
        if data and (any(map(_is_column, data.values())) or not any(map(_is_data, data.values()))):
            raise UsageError("a single record or a table of columns has no type", hint='name it: {"Person": [...]}')
        return list(data.items())
    if is_frame(data):
        raise UsageError(
            f"{with_article(type(data).__name__)} has no type of its own", hint='name it: {"Person": frame}'
        )
    if isinstance(data, Sequence) and not isinstance(data, bytes):
        if data and all(isinstance(item, Mapping) for item in data):
            raise UsageError("records have no type of their own", hint='name it: {"Person": records}')
        if data and all(is_object(item) and not isinstance(item, Named) for item in data):
            return list(_by_class(data).items())
        return [(item.type, item.data) if isinstance(item, Named) else (None, item) for item in data]
    raise UsageError(
        f"a schema cannot be inferred from a value of type {type(data).__name__}",
        hint='pass a file, a list of files, a NetworkX graph, or frames by type: {"Person": people, "Knows": knows}',
    )


def _by_class(objects: Sequence[object]) -> dict[str | None, list[object]]:
    """Objects by the names of their classes, which are their types."""
    found: dict[str | None, list[object]] = {}
    for item in objects:
        found.setdefault(class_name(item), []).append(item)
    return found


def _is_column(item: object) -> bool:
    """True for values of one column. A list of texts may be files, and a list of objects rows."""
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], int | float | date)


def _is_data(item: object) -> bool:
    return isinstance(item, str | os.PathLike | list | tuple | Mapping) or is_network(item) or is_frame(item)


def _add_parts(
    files: dict[str, _Files], name: str | None, paths: Sequence[str | os.PathLike[str]], options: Mapping[str, str]
) -> list[TableSource]:
    """The files of one type. Without a name, it has that of the first file that holds more than a header."""
    stems = [stem(os.fspath(path)) for path in paths]
    own = name or next((word for word in stems if "header" not in word.lower()), stems[0])
    group = files.setdefault(own, _Files(name))
    for path in paths:
        group.found += find_sources(path, options)
    return []


def _add_file(
    files: dict[str, _Files], name: str | None, path: str | os.PathLike[str], options: Mapping[str, str]
) -> list[TableSource]:
    text = os.fspath(path)
    if _is_graphml(text):
        return _network(read_graphml(text), text)
    for found in find_sources(text, options):
        own = name or found.type_hint or stem(found.name)
        group = files.setdefault(own, _Files(name))
        group.found.append(found)
    return []


def _file_source(own: str, group: _Files) -> TableSource:
    first = group.found[0]
    known = format_of_name(first.name)
    is_json = known is not None and known.is_json
    names = first.name if len(group.found) == 1 else f"{first.name} and {len(group.found) - 1:,} more"
    given = None if group.given_type is None else given_name(group.given_type)
    pieces = open_pieces(group.found)
    return TableSource(names, own, given, open_files(group.found), is_json=is_json, pieces=pieces)


def given_name(name: str) -> str:
    """A name that a caller gave a type: as it is, or in camel case if no type can have it."""
    return name if is_type_name(name) else type_name(name, is_edge=True)


def _frame(name: str | None, item: Any, number: int) -> TableSource:
    shown = name or _own_name(item) or f"table{number}"
    if isinstance(item, pa.RecordBatchReader):
        raise UsageError(
            f"{shown}: a reader can be read only once, and inference and load read the data several times",
            hint="pass a table (reader.read_all()) or a file",
        )
    if isinstance(item, list | tuple) and not is_columns(item):
        item = _records(shown, item)
    if not is_frame(item) and not is_columns(item):
        raise UsageError(
            f"{shown}: {with_article(type(item).__name__)} is not a table",
            hint="pass a frame, an Arrow table or a file",
        )
    given = None if name is None else given_name(name)
    return TableSource(shown, shown, given, open_data(shown, item), gapped=gapped_columns(item))


def _own_name(item: Any) -> str | None:
    """The name in the attributes of a pandas frame."""
    attributes = getattr(item, "attrs", None)
    name = attributes.get("name") if isinstance(attributes, Mapping) else None
    return name if isinstance(name, str) and name else None


def _records(shown: str, items: Sequence[Any]) -> pa.Table:
    """Records, dataclasses or models as a table."""
    records = []
    for item in items:
        record = as_record(item)
        if not isinstance(record, Mapping):
            break
        records.append(record)
    if len(records) < max(1, len(items)):
        found = "no rows" if not items else f"{with_article(type(items[len(records)]).__name__)} among its rows"
        raise UsageError(f"{shown} has {found}", hint="rows are dicts, dataclasses or models with the columns as keys")
    names = dict.fromkeys(str(name) for record in records for name in record)
    return pa.table({name: _column(shown, name, [record.get(name) for record in records]) for name in names})


def _column(shown: str, name: str, values: Sequence[object]) -> pa.Array:
    """The values of one key of the records, which have one type."""
    try:
        return pa.array([plain_value(value) for value in values])
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        raise InputError(
            f"column {name!r} of {shown} has no single type: its values are of {', '.join(kinds)}",
            hint="give the values of every column one type",
            column=name,
        ) from error


def _network(graph: Any, shown: str) -> list[TableSource]:
    sources = []
    for table in network_tables(graph):
        declared = Declared(is_edge=False, key=ID)
        if table.ends is not None:
            declared = Declared(is_edge=True, ends=(SOURCE, TARGET), end_types=table.ends)
        sources.append(TableSource(shown, table.type, table.type, open_data(shown, table.table), declared))
    return sources


def is_data_name(path: str) -> bool:
    """Tell if a path names a data file by its suffix."""
    return format_of_name(path) is not None or _is_graphml(path)


def _is_graphml(path: str) -> bool:
    return os.path.splitext(bare_name(path))[1].lower() == _GRAPHML
