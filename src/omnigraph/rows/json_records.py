"""The exact path of reading records: one record at a time, with a located violation for every problem.

A record is a decoded JSON object. An invalid row is reported and skipped; reading continues with the next record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.json_values import Convert, Unfit, converter, kind_of, to_text
from omnigraph.rows.keys import key_id, key_text
from omnigraph.rows.minting import MintIds
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.schema.types import PropertyType

RESERVED: Final = frozenset(
    {"_tombstone", "_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"}
)
_NODE_KEYS: Final = frozenset({"type", "data"})
_EDGE_KEYS: Final = frozenset({"edge", "from", "to", "data"})


class RecordReader:
    """Converts records to rows, collected in columns until ``take`` is called."""

    def __init__(self, catalog: Catalog, source: str, mint_ids: MintIds, violations: Violations) -> None:
        self._catalog = catalog
        self._source = source
        self._mint_ids = mint_ids
        self._violations = violations
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
            table.add_node(node, data, line)

    def _read_edge(self, record: Mapping[str, object], line: int) -> None:
        name = record["edge"]
        edge = self._catalog.edge(name) if isinstance(name, str) else None
        if edge is None:
            self._unknown_type("edge", name, line)
            return
        table = self._table(edge)
        data = self._data(record, _EDGE_KEYS, table, line)
        if data is not None:
            table.add_edge(record, data, line)

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
            table = _Table(entity, self._source, self._mint_ids, self._violations)
            self._tables[entity.table_key] = table
        return table


class _Table:
    """Builder of the columns of one type."""

    def __init__(self, entity: Entity, source: str, mint_ids: MintIds, violations: Violations) -> None:
        self.key = entity.table_key
        self.lines: list[int] = []
        self._entity = entity
        self._source = source
        self._mint_ids = mint_ids
        self._violations = violations
        self._schema = table_schema(entity)
        self._system = 3 if isinstance(entity, EdgeType) else 1
        self._properties: list[tuple[str, PropertyType, Convert]] = [
            (name, entity.properties[name].type, converter(entity.properties[name].type))
            for name in self._schema.names[self._system :]
        ]
        self._known = frozenset(self._schema.names[self._system :]) | {ID}
        self._columns: list[list[object]] = [[] for _ in self._schema]

    def take(self) -> TypedRows:
        arrays = [pa.array(column, field.type) for column, field in zip(self._columns, self._schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        rows = TypedRows(self._entity, batch, pa.array(self.lines, pa.int64()))
        self.lines = []
        self._columns = [[] for _ in self._schema]
        return rows

    def add_node(self, node: NodeType, data: Mapping[str, object], line: int) -> None:
        values = self._values(data, line)
        given, is_good = self._given_id(data, line)
        if values is None or not is_good:
            return
        entity_id = self._key_id(node, values, given, line) if node.key else self._mint_unless(given)
        if entity_id is not None:
            self._add([entity_id, *values], line)

    def add_edge(self, record: Mapping[str, object], data: Mapping[str, object], line: int) -> None:
        ends = [self._end(record, key, line) for key in ("from", "to")]
        values = self._values(data, line)
        given, is_good = self._given_id(data, line)
        if values is not None and is_good and None not in ends:
            self._add([self._mint_unless(given), *ends, *values], line)

    def _add(self, row: list[object], line: int) -> None:
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.lines.append(line)

    def _mint_unless(self, given: str | None) -> str:
        return self._mint_ids(1) if given is None else given

    def _end(self, record: Mapping[str, object], key: str, line: int) -> str | None:
        value = record.get(key)
        if value is None:
            self._report(ViolationCode.REQUIRED, f'missing "{key}", the id of a node', key, line)
            return None
        try:
            return to_text(value)
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

    def _key_id(self, node: NodeType, values: list[object], given: str | None, line: int) -> str | None:
        by_name = {name: value for (name, _, _), value in zip(self._properties, values, strict=True)}
        texts = [key_text(by_name[name], node.properties[name].type) for name in node.key]
        derived = key_id([text for text in texts if text is not None])
        if given is not None and given != derived:
            self._report(ViolationCode.KEY, explicit_id_message(node, given, derived), ID, line, given)
            return None
        return derived

    def _values(self, data: Mapping[str, object], line: int) -> list[object] | None:
        """The stored values in column order, or None after reporting every violation."""
        is_good = True
        if not self._known.issuperset(data):
            self._report_unknown(data, line)
            is_good = False
        values = []
        for name, type_, convert in self._properties:
            value = data.get(name)
            try:
                if value is not None:
                    values.append(convert(value))
                elif type_.nullable:
                    values.append(None)
                else:
                    is_good = False
                    self._report(ViolationCode.REQUIRED, required_message(self._entity, name), name, line)
            except Unfit as problem:
                is_good = False
                self._report(ViolationCode.TYPE, unfit_message(self._entity, name, str(problem)), name, line)
        return values if is_good else None

    def _report_unknown(self, data: Mapping[str, object], line: int) -> None:
        for name in data:
            if name not in self._known:
                message = f"unknown property {shown(name)} of {self._entity.name}"
                if isinstance(self._entity, EdgeType) and name in (SRC, DST):
                    message = f'{shown(name)} is not a property; the ends of an edge are "from" and "to"'
                elif name in RESERVED:
                    message = f"the property name {shown(name)} is reserved"
                self._report(ViolationCode.UNKNOWN_PROPERTY, message, str(name), line)

    def _report(self, code: ViolationCode, message: str, prop: str, line: int, entity_id: str | None = None) -> None:
        place = Place(self._source, line)
        self._violations.add(Violation(code, message, self.key, entity_id, prop, place))


def required_message(entity: Entity, name: str) -> str:
    return f"missing required property {entity.name}.{name} ({entity.properties[name].type})"


def unfit_message(entity: Entity, name: str, why: str) -> str:
    return f"wrong value for {entity.name}.{name} ({entity.properties[name].type}): {why}"


def explicit_id_message(node: NodeType, given: str, derived: str) -> str:
    keys = ", ".join(node.key)
    return f"the id {shown(given)} of {node.name} differs from {shown(derived)}, the id its key ({keys}) gives"
