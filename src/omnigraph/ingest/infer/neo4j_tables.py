"""Tables with a header of ``neo4j-admin import``: divided by label or type, with the facts that the header states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError
from omnigraph.ingest.infer.facts import Declared
from omnigraph.ingest.infer.names import is_type_name, type_name
from omnigraph.ingest.infer.neo4j_headers import DIVIDER, HeaderField, Role, misspelled, parse_header
from omnigraph.ingest.infer.sources import Opener, TableSource, open_in_turn
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.arrow_types import column_type
from omnigraph.rows.typed_rows import PlacedBatch

_LABELS: Final = "labels"

TYPES_MAX: Final = 1_000
"""Labels, or types of relationships, of one file. More are values, not types."""


@dataclass(frozen=True, slots=True)
class _Divided:
    """A source with such a header, and the type names that its rows have."""

    source: TableSource
    fields: Sequence[HeaderField]

    def field(self, role: Role) -> HeaderField | None:
        return next((field for field in self.fields if field.role is role), None)


def expand_headers(sources: Sequence[TableSource]) -> list[TableSource]:
    """The sources; one with such a header becomes a source for each label or type in it."""
    expanded: list[TableSource] = []
    groups: dict[str, list[str]] = {}
    edges: list[tuple[int, _Divided]] = []
    for source in sources:
        with source.open() as table:
            names = table.schema.names
        fields = parse_header(names)
        _refuse_misspelled(source, names, is_header=fields is not None)
        if fields is None:
            expanded.append(source)
            continue
        divided = _Divided(source, fields)
        is_edge = divided.field(Role.ID) is None
        for part in _parts(divided, is_edge=is_edge):
            if is_edge:
                edges.append((len(expanded), divided))
            else:
                found = divided.field(Role.ID)
                assert found is not None and part.given_type is not None
                groups.setdefault(found.group, []).append(part.given_type)
            expanded.append(part)
    for position, divided in edges:
        expanded[position] = _with_ends(expanded[position], divided, groups)
    return _joined(expanded)


def _refuse_misspelled(source: TableSource, names: Sequence[str], *, is_header: bool) -> None:
    """Raise for a field that is nearly one of Neo4j's; in an ordinary header, if it begins with a colon."""
    wrong = misspelled(names if is_header else [name for name in names if name.startswith(":")])
    if wrong is not None:
        column, near = wrong
        raise InputError(f"{source.name}: unknown field {column!r} of the header", hint=near, column=column)


def _joined(sources: Sequence[TableSource]) -> list[TableSource]:
    """The sources, with those that state the same type, key and ends as one: a type may have any number of files."""
    found: dict[object, TableSource] = {}
    for source in sources:
        declared = source.declared
        facts = (declared.is_edge, source.given_type, declared.key, declared.ends, declared.end_types)
        same: object = facts if declared.is_edge is not None else source.name
        known = found.get(same)
        found[same] = source if known is None else _with_rows(known, source)
    return list(found.values())


def _with_rows(first: TableSource, second: TableSource) -> TableSource:
    parts = (*first.parts(), *second.parts())
    types = {**first.declared.types, **second.declared.types}
    names = {**first.declared.names, **second.declared.names}
    return replace(
        first,
        name=f"{first.name.partition(' and ')[0]} and {len(parts) - 1:,} more",
        opener=open_in_turn([opener for _, opener in parts]),
        declared=replace(first.declared, types=types, names=names),
        pieces=parts,
    )


def _parts(divided: _Divided, *, is_edge: bool) -> Iterator[TableSource]:
    source = divided.source
    role = Role.TYPE if is_edge else Role.LABEL
    named = divided.field(role)
    declared = _declared(divided, is_edge=is_edge)
    if named is None or source.given_type is not None:
        given = source.given_type or type_name(source.stem, is_edge=is_edge)
        adapted = source.adapted(partial(_adapted, divided, None, {}))
        yield replace(adapted, given_type=given, declared=declared)
        return
    labels, has_several = _labels(source, named.column)
    if has_several and not is_edge:
        named_labels = {named.column: _LABELS}
        declared = replace(declared, names={**declared.names, **named_labels})
    for label in labels:
        given = label if is_type_name(label) else type_name(label or source.stem, is_edge=is_edge)
        kept = {named.column: label}
        listed = named.column if has_several and not is_edge else None
        adapted = source.adapted(partial(_adapted, divided, listed, kept))
        yield replace(adapted, name=f"{source.name} ({given})", given_type=given, declared=declared)


def _declared(divided: _Divided, *, is_edge: bool) -> Declared:
    fields = divided.fields
    names = {field.column: field.name or "id" for field in fields if field.column != field.name}
    types = {field.column: field.type for field in fields if field.type is not None}
    if not is_edge:
        key = divided.field(Role.ID)
        assert key is not None, "the header of a node names its id"
        return Declared(is_edge=False, key=key.column, types=types, names=names)
    start, end = divided.field(Role.START), divided.field(Role.END)
    assert start is not None and end is not None, "the header of an edge names its ends"
    return Declared(is_edge=True, ends=(start.column, end.column), types=types, names=names)


def _with_ends(part: TableSource, divided: _Divided, groups: dict[str, list[str]]) -> TableSource:
    """The types of the ends, where the id group has nodes of one type only."""

    def stated(role: Role) -> str | None:
        field = divided.field(role)
        types = [] if field is None else list(dict.fromkeys(groups.get(field.group, [])))
        return types[0] if len(types) == 1 else None

    types = (stated(Role.START), stated(Role.END))
    return replace(part, declared=replace(part.declared, end_types=types))


def _labels(source: TableSource, column: str) -> tuple[list[str], bool]:
    """The first labels of all rows, in their order, and: a row has several."""
    found: dict[str, None] = {}
    has_several = False
    with source.open() as table:
        for placed in table.batches:
            texts = placed.batch.column(column)
            has_several = has_several or bool(pc.any(pc.match_substring(texts, DIVIDER)).as_py())
            found.update(dict.fromkeys(text or "" for text in pc.unique(_first_label(texts)).to_pylist()))
            if len(found) > TYPES_MAX:
                raise InputError(
                    f"{source.name}: column {column!r} has more than {TYPES_MAX:,} different types",
                    hint=f"name one type for the file, such as Person={source.name}",
                )
    return list(found), has_several


def _first_label(texts: pa.Array) -> pa.Array:
    return pc.fill_null(pc.replace_substring_regex(texts, f"{DIVIDER}.*", ""), "")


def _adapted(divided: _Divided, labels: str | None, kept: dict[str, str], opener: Opener) -> Opener:
    """The rows with the given first labels, without the columns that are no properties, and with arrays as lists."""
    dropped = {field.column for field in divided.fields if field.role in (Role.LABEL, Role.TYPE, Role.IGNORE)} - {
        labels
    }
    arrays = {field.column: field.type for field in divided.fields if field.type is not None and field.type.is_list}

    @contextmanager
    def opened(report: Report | None) -> Iterator[SourceTable]:
        with opener(report) as table:
            columns = [name for name in table.schema.names if name not in dropped]

            def batches() -> Iterator[PlacedBatch]:
                for placed in table.batches:
                    batch, lines = placed.batch, placed.lines
                    for column, label in kept.items():
                        is_kept = pc.equal(_first_label(batch.column(column)), label)
                        batch, lines = batch.filter(is_kept), lines.filter(is_kept)
                    values = [_value(batch.column(name), name) for name in columns]
                    yield PlacedBatch(pa.RecordBatch.from_arrays(values, schema=schema), lines)

            def _value(array: pa.Array, name: str) -> pa.Array:
                if name == labels:
                    return pc.split_pattern(array, DIVIDER)
                return array if name not in arrays else _items(array, schema.field(name).type, table.name)

            schema = pa.schema([(name, _type(name)) for name in columns])
            yield SourceTable(table.name, schema, batches(), table.is_text, table.header_line)

    def _type(name: str) -> pa.DataType:
        if name == labels:
            return pa.list_(pa.utf8())
        return column_type(arrays[name]) if name in arrays else pa.utf8()

    return opened


def _items(array: pa.Array, type_: pa.DataType, source: str) -> pa.Array:
    lists = pc.split_pattern(array, DIVIDER)
    try:
        return lists.cast(type_)
    except pa.ArrowInvalid as error:
        raise InputError(f"{source}: {error}", hint="the header states another type than the values have") from error
