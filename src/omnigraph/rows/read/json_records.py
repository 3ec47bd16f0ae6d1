"""The exact path of reading records: one record at a time, with a located violation for every problem.

A record is a decoded JSON object. Every mistake in it is reported, and reading continues with the next record. A row
whose id is known stays, with null in place of an invalid value; the others are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.casting.json_values import Convert, Unfit, converter, kind_of, to_text
from omnigraph.rows.ends.references import (
    has_typed_key,
    key_text_of_end,
    stored_tags,
    type_columns,
    with_types,
    written_node,
)
from omnigraph.rows.keys import key_id, key_text, key_type
from omnigraph.rows.omissions import Omissions, cells_of_rows
from omnigraph.rows.read.minting import MintIds
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType
from omnigraph.schema.types import PropertyType

RESERVED: Final = frozenset(
    {"_tombstone", "_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"}
)
_NODE_KEYS: Final = frozenset({"type", "data"})
_EDGE_KEYS: Final = frozenset({"edge", "from", "to", "data"})


class RecordReader:
    """Converts records to rows, collected in columns until ``take`` is called."""

    def __init__(
        self,
        catalog: Catalog,
        source: str,
        mint_ids: MintIds,
        violations: Violations,
        omissions: Omissions = Omissions.IGNORED,
        convert: Callable[[PropertyType], Convert] = converter,
    ) -> None:
        """``convert`` gives the conversion of a type's values, which raises Unfit."""
        self._catalog = catalog
        self._source = source
        self._mint_ids = mint_ids
        self._violations = violations
        self._omissions = omissions
        self._convert = convert
        self._tables: dict[str, _Table] = {}

    def take(self) -> list[TypedRows]:
        """The rows read since the last call, by type."""
        return [table.take() for _, table in sorted(self._tables.items()) if table.lines]

    def read(self, record: object, line: int) -> None:
        if not isinstance(record, Mapping):
            self.malformed(f"expected an object, got {kind_of(record)}", line)
        elif "type" in record:
            self._read_node(record, line)
        elif "edge" in record:
            self._read_edge(record, line)
        else:
            self.malformed('a record has "type" (a node) or "edge" (an edge); this one has neither', line)

    def read_as(self, entity: Entity, data: Mapping[str, object], line: int) -> None:
        """Read a record that has no envelope: stored columns and their values."""
        if not isinstance(entity, EdgeType):
            self._table(entity).add({}, data, line)
            return
        fields = {name for end in entity.ends for name in (end.column, f"{end.column}_type" if end.is_typed else "")}
        ends = {end.word: _given_end(end, data) for end in entity.ends if end.column in data}
        properties = {name: value for name, value in data.items() if name not in fields}
        self._table(entity).add(ends, properties, line)

    def malformed(self, message: str, line: int, table_key: str | None = None) -> None:
        place = Place(self._source, line)
        self._violations.add(Violation(ViolationCode.MALFORMED, message, table_key, place=place))

    def _read_node(self, record: Mapping[str, object], line: int) -> None:
        name = record["type"]
        node = self._catalog.node(name) if isinstance(name, str) else None
        if node is None:
            self._unknown_type("node", name, line)
            return
        table = self._table(node)
        data = self._data(record, _NODE_KEYS, table, line)
        if data is not None:
            table.add({}, data, line)

    def _read_edge(self, record: Mapping[str, object], line: int) -> None:
        name = record["edge"]
        edge = self._catalog.edge(name) if isinstance(name, str) else None
        if edge is None:
            self._unknown_type("edge", name, line)
            return
        table = self._table(edge)
        data = self._data(record, _EDGE_KEYS, table, line)
        if data is not None:
            table.add(record, data, line)

    def _unknown_type(self, kind: str, name: object, line: int) -> None:
        if not isinstance(name, str):
            key = "type" if kind == "node" else "edge"
            self.malformed(f'"{key}" must be the name of a type, got {kind_of(name)}', line)
            return
        message = f"unknown {kind} type {shown(name)}"
        self._violations.add(Violation(ViolationCode.UNKNOWN_TYPE, message, place=Place(self._source, line)))

    def _data(
        self, record: Mapping[str, object], allowed: frozenset[str], table: _Table, line: int
    ) -> Mapping[str, object] | None:
        """The properties, or None if the enclosing record is malformed."""
        extra = [key for key in record if key not in allowed]
        if extra:
            keys = ", ".join(f'"{key}"' for key in sorted(allowed))
            self.malformed(f"unexpected key {shown(extra[0])}; the keys of this record are {keys}", line, table.key)
            return None
        data = record.get("data", {})
        if not isinstance(data, Mapping):
            self.malformed(f'"data" must be an object, got {kind_of(data)}', line, table.key)
            return None
        return data

    def _table(self, entity: Entity) -> _Table:
        table = self._tables.get(entity.table_key)
        if table is None:
            table = _Table(entity, self._source, self._mint_ids, self._violations, self._omissions, self._convert)
            self._tables[entity.table_key] = table
        return table


def _given_end(end: EdgeEnd, data: Mapping[str, object]) -> object:
    """An end of a record without an envelope: its id, with the type if there is one."""
    value, name = data[end.column], data.get(f"{end.column}_type")
    return value if not end.is_typed or name is None or isinstance(value, Mapping) else {"type": name, "id": value}


class _Table:
    """Builder of the columns of one type."""

    def __init__(
        self,
        entity: Entity,
        source: str,
        mint_ids: MintIds,
        violations: Violations,
        omissions: Omissions,
        convert: Callable[[PropertyType], Convert],
    ) -> None:
        self.key = entity.table_key
        self.lines: list[int] = []
        self._entity = entity
        self._source = source
        self._mint_ids = mint_ids
        self._violations = violations
        self._is_noted = omissions is not Omissions.IGNORED
        self._is_partial = omissions is Omissions.ALLOWED
        self._schema = table_schema(entity)
        self._system = 1 + len(with_types(entity, (SRC, DST))) if isinstance(entity, EdgeType) else 1
        self._properties: list[tuple[str, PropertyType, Convert]] = [
            (name, entity.properties[name].type, convert(entity.properties[name].type))
            for name in self._schema.names[self._system :]
        ]
        self._known = frozenset(self._schema.names[self._system :]) | {ID}
        self._columns: list[list[object]] = [[] for _ in self._schema]
        self._omitted: list[list[bool]] = []
        self._has_holes = False

    def take(self) -> TypedRows:
        arrays = [pa.array(column, field.type) for column, field in zip(self._columns, self._schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        lines, cells = pa.array(self.lines, pa.int64()), cells_of_rows(self._omitted)
        rows = TypedRows(self._entity, batch, lines, self._has_holes, cells)
        self.lines = []
        self._has_holes = False
        self._columns = [[] for _ in self._schema]
        self._omitted = []
        return rows

    def add(self, record: Mapping[str, object], data: Mapping[str, object], line: int) -> None:
        """Add a row; ``record`` holds the ends of an edge."""
        given, is_readable = self._given_id(data, line)
        ends: dict[str, str | None] = {}
        tags: dict[str, str | None] = {}
        if isinstance(self._entity, EdgeType):
            is_optional = self._is_partial and given is not None
            for end in self._entity.ends:
                found = self._end(end, record, line) if end.word in record or not is_optional else None
                ends[end.column], tag = found or (None, None)
                if end.type_column is not None:
                    tags[end.type_column] = tag
                is_readable &= found is not None or (is_optional and end.word not in record)
        values = self._values(data, line)
        if not is_readable:
            return
        by_end = ends | tags
        entity_id = self._key_id(data, by_end, values, given, line) if self._entity.key else self._mint_unless(given)
        if entity_id is not None:
            self._add([entity_id, *by_end.values(), *values], line)
            self._note(data, ends, given)

    def _add(self, row: list[object], line: int) -> None:
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.lines.append(line)

    def _note(self, data: Mapping[str, object], ends: Mapping[str, str | None], given: str | None) -> None:
        omitted = [given is None, *(end is None for end in ends.values())]
        if isinstance(self._entity, EdgeType):
            omitted += [ends[end.column] is None for end in self._entity.ends if end.type_column is not None]
        names = self._schema.names[self._system :]
        self._omitted.append(omitted + [self._is_noted and name not in data for name in names])

    def _mint_unless(self, given: str | None) -> str:
        return self._mint_ids(1) if given is None else given

    def _end(self, end: EdgeEnd, record: Mapping[str, object], line: int) -> tuple[str, str | None] | None:
        """The id and the tag of a node; None if something was reported."""
        value, key = record.get(end.word), end.word
        if value is None:
            self._report(ViolationCode.REQUIRED, f'missing "{key}", the id of a node', key, line)
            return None
        try:
            name, id_ = written_node(end, value)
            return to_text(id_), stored_tags(end, [name])[0]
        except Unfit as problem:
            self._report(ViolationCode.TYPE, f'"{key}" must be the id of a node: {problem}', key, line)
            return None

    def _given_id(self, data: Mapping[str, object], line: int) -> tuple[str | None, bool]:
        value = data.get(ID)
        if value is None:
            return None, True
        try:
            return to_text(value), True
        except Unfit as problem:
            self._report(ViolationCode.TYPE, f'"id" of {self._entity.name}: {problem}', ID, line)
            return None, False

    def _key_id(
        self,
        data: Mapping[str, object],
        ends: Mapping[str, str | None],
        values: list[object],
        given: str | None,
        line: int,
    ) -> str | None:
        """The derived id, or the given one if a member of the key is omitted; None if there is neither."""
        entity = self._entity
        by_name: dict[str, object] = {name: value for (name, _, _), value in zip(self._properties, values, strict=True)}
        by_name.update(ends)
        for end in entity.ends if isinstance(entity, EdgeType) else ():
            id_ = ends[end.column]
            tag = None if end.type_column is None else ends[end.type_column]
            by_name[end.column] = None if id_ is None else key_text_of_end(end, tag, id_)
        omitted = [name for name in entity.key if by_name[name] is None and name not in data]
        if omitted and self._is_partial:
            if given is None:
                self._report(ViolationCode.REQUIRED, required_message(entity, omitted[0]), omitted[0], line)
            return given
        texts = [key_text(by_name[name], key_type(entity, name)) for name in entity.key]
        if None in texts:
            return None
        derived = key_id([text for text in texts if text is not None])
        if given is not None and given != derived and not has_typed_key(entity):
            self._report(ViolationCode.KEY, explicit_id_message(entity, given, derived), ID, line, given)
        return derived

    def _values(self, data: Mapping[str, object], line: int) -> list[object]:
        """The stored values in column order, with None for those that were reported."""
        if not self._known.issuperset(data):
            self._report_unknown(data, line)
        values: list[object] = []
        for name, type_, convert in self._properties:
            value = data.get(name)
            try:
                if value is not None:
                    value = convert(value)
                elif not type_.nullable and not (self._is_partial and name not in data):
                    self._report(ViolationCode.REQUIRED, required_message(self._entity, name), name, line)
            except Unfit as problem:
                value = None
                self._report(ViolationCode.TYPE, unfit_message(self._entity, name, str(problem)), name, line)
            values.append(value)
        return values

    def _report_unknown(self, data: Mapping[str, object], line: int) -> None:
        for name in data:
            if name not in self._known:
                message = f"unknown property {shown(name)} of {self._entity.name}"
                if isinstance(self._entity, EdgeType) and name in (SRC, DST, *type_columns(self._entity)):
                    message = f'{shown(name)} is not a property; the ends of an edge are "from" and "to"'
                elif name in RESERVED:
                    message = f"the property name {shown(name)} is reserved"
                self._report(ViolationCode.UNKNOWN_PROPERTY, message, str(name), line)

    def _report(self, code: ViolationCode, message: str, prop: str, line: int, entity_id: str | None = None) -> None:
        self._has_holes = True
        place = Place(self._source, line)
        self._violations.add(Violation(code, message, self.key, entity_id, prop, place))


def required_message(entity: Entity, name: str) -> str:
    if name in (SRC, DST):
        return f'missing "{"from" if name == SRC else "to"}" of {entity.name}, the id of a node'
    return f"missing required property {entity.name}.{name} ({entity.properties[name].type})"


def unfit_message(entity: Entity, name: str, why: str) -> str:
    return f"wrong value for {entity.name}.{name} ({entity.properties[name].type}): {why}"


def explicit_id_message(entity: Entity, given: str, derived: str) -> str:
    keys = ", ".join(entity.key)
    return f"the id {shown(given)} of {entity.name} differs from {shown(derived)}, the id its key ({keys}) gives"
