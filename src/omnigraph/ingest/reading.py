"""The reading of outside data into typed rows: tables through columns, records one at a time.

One value holds what every reader needs: the catalog, the options about columns, the ids to mint, and the violations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice

from omnigraph.core.python_values import plain_value, plain_values
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError
from omnigraph.ingest.advice import missing_columns
from omnigraph.ingest.columns import ColumnOptions, ColumnProblem, constants, match_columns, missing_from, renamed
from omnigraph.ingest.objects import as_record, class_name
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.casting.json_values import kind_of
from omnigraph.rows.id_columns import id_text, text_key
from omnigraph.rows.limits import BATCH_ROWS, RECORDS_PER_BLOCK
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.arrow import from_batches
from omnigraph.rows.read.json_records import RecordReader
from omnigraph.rows.read.minting import MintIds
from omnigraph.rows.rejected.arrived import ArrivedRows
from omnigraph.rows.rejected.reasons import EveryViolation
from omnigraph.rows.typed_rows import Gathering, TypedRows
from omnigraph.rows.violations import PartName, Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType

Numbered = tuple[int, object]
"""The line or the number of a record, and its value."""

_ENVELOPES = {"type": frozenset({"type", "data"}), "edge": frozenset({"edge", "from", "to", "data"})}


@dataclass(frozen=True)
class Reading:
    """One load's reading of its input."""

    catalog: Catalog
    mint_ids: MintIds
    violations: Violations
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    is_only_type: bool = True
    """The input has one type, so that an option about a column that is missing is a mistake."""
    omissions: Omissions = Omissions.IGNORED
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def rejecting(self) -> EveryViolation | None:
        """The violations of a load that rejects rows."""
        return self.violations if isinstance(self.violations, EveryViolation) else None

    def part(self, name: str) -> str:
        """The name of the next part of the input. Rejected rows are identified by part and line."""
        return name if self.rejecting is None else PartName(name, next(self._numbers))

    def entity(self, type_name: str) -> Entity:
        """The type with this name, or with this key, such as ``node:Person``; raises NotFoundError."""
        found = self.catalog.node(type_name) or self.catalog.edge(type_name) or self._with_key(type_name)
        if found is None:
            raise self.no_type(type_name)
        return found

    def no_type(self, name: str) -> NotFoundError:
        """The error for a name that no type has."""
        known = [*self.catalog.nodes, *self.catalog.edges]
        hint = did_you_mean(name, known) or f"the types are {', '.join(known)}"
        return NotFoundError(f"there is no type {name!r}", hint=hint, type=name)

    def entity_like(self, name: str) -> Entity | None:
        """The type with this name, or the only one whose name differs in capital letters alone.

        Where a node and an edge type share a name, exports call their files ``node_Name`` and ``edge_Name``.
        """
        same = [entity for entity in self.types if entity.name == name]
        alike = same or [entity for entity in self.types if entity.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else self._with_key(name.replace("_", ":", 1))

    def _with_key(self, key: str) -> Entity | None:
        return next((entity for entity in self.types if entity.table_key == key), None)

    @property
    def types(self) -> list[Entity]:
        """Every type of the graph."""
        return [*self.catalog.nodes.values(), *self.catalog.edges.values()]

    def report(self, source: str, table_key: str | None = None, hint: str | None = None) -> Report:
        """A report of malformed rows of a source. The ``hint`` describes its records."""

        def add(line: int, reason: str) -> None:
            place = Place(source, line)
            if hint is not None:
                self.violations.advise(hint)
            self.violations.add(Violation(ViolationCode.MALFORMED, reason, table_key, place=place))

        return add

    def report_columns(self, problems: Iterable[ColumnProblem], entity: Entity, place: Place | None) -> None:
        """Report columns that do not fit."""
        for problem in problems:
            self.violations.advise(problem.hint)
            self.violations.add(
                Violation(problem.code, problem.message, entity.table_key, property=problem.column, place=place)
            )

    def table(self, table: SourceTable, entity: Entity) -> Iterator[TypedRows]:
        """The rows of a table."""
        own = self.columns.of_type(entity)
        names = table.schema.names
        found = match_columns(
            entity, names, own, self.types, is_only_type=self.is_only_type, is_text=table.header_line is not None
        )
        self.report_columns(found.problems, entity, self._header(table))
        named = renamed(table, entity, own, found.columns)
        missing = missing_from(entity, named.schema.names)
        if missing and self.omissions is not Omissions.ALLOWED:
            self.violations.advise(missing_columns(missing, names))
        return self.typed(named, entity)

    def typed(self, table: SourceTable, entity: Entity) -> Iterator[TypedRows]:
        """The rows of a table whose columns have the names of stored ones."""
        if self.rejecting is None:
            return self._from_batches(table, entity)
        arrived = ArrivedRows(entity, self.rejecting)
        self.rejecting.kept[table.name] = arrived.records
        if ID not in table.schema.names:
            self.rejecting.without_ids.add(table.name)
        return arrived.settling(self._from_batches(replace(table, batches=arrived.noting(table.batches)), entity))

    def _from_batches(self, table: SourceTable, entity: Entity) -> Iterator[TypedRows]:
        return from_batches(
            entity,
            table.schema,
            table.batches,
            source=table.name,
            mint_ids=self.mint_ids,
            violations=self.violations,
            from_texts=table.is_text,
            omissions=self.omissions,
            references=references(entity, self.catalog),
            header=self._header(table),
            locates_columns=self.rejecting is None,
        )

    def _header(self, table: SourceTable) -> Place | None:
        """The place of the column names. A wrong column is no fault of a row, and with a place it could be rejected."""
        return table.header if self.rejecting is None else None

    def records(self, records: Iterable[Numbered], source: str, entity: Entity | None) -> Iterator[TypedRows]:
        """The rows of records: with an envelope, of one type without it, or objects whose class is their type."""
        reader = RecordReader(self.catalog, source, self.mint_ids, self.violations, self.omissions)
        typed = None if entity is None else _PlainRecords(self, entity, source, reader)
        by_class: dict[str, _PlainRecords] = {}
        gathering = Gathering(BATCH_ROWS)
        remaining = iter(records)
        while part := list(islice(remaining, RECORDS_PER_BLOCK)):
            for number, item in part:
                record, plain = item, typed
                if not isinstance(item, dict):
                    record, name = as_record(item), class_name(item)
                    if plain is None and name is not None:
                        plain = by_class.get(name)
                        plain = plain or by_class.setdefault(name, self._of_class(name, source, reader))
                if plain is None or has_envelope(record, plain.entity):
                    reader.read(_plain_data(record), number)
                else:
                    plain.read(record, number)
            for piece in reader.take():
                yield from gathering.add(piece)
        yield from gathering.rest()

    def _of_class(self, name: str, source: str, reader: RecordReader) -> _PlainRecords:
        return _PlainRecords(self, self.entity(name), source, reader)


def references(entity: Entity, catalog: Catalog) -> dict[str, tuple[NodeType, ...]]:
    """The node types whose ids the stored columns of a type hold."""
    if isinstance(entity, EdgeType):
        return {end.column: tuple(catalog.nodes[name] for name in end.types) for end in entity.ends}
    return {ID: (entity,)}


def has_envelope(record: object, entity: Entity) -> bool:
    """True for a record that names its type itself. A property of the type is never taken for an envelope."""
    if not isinstance(record, Mapping):
        return False
    return any(
        isinstance(record.get(key), str) and key not in entity.properties and allowed.issuperset(record)
        for key, allowed in _ENVELOPES.items()
    )


def _plain_data(record: object) -> object:
    """A record in an envelope with plain values of its properties."""
    if not isinstance(record, Mapping) or not isinstance(record.get("data"), Mapping):
        return record
    return {**record, "data": plain_values(record["data"])}


class _PlainRecords:
    """Reads records of one type whose keys are columns."""

    def __init__(self, reading: Reading, entity: Entity, source: str, reader: RecordReader) -> None:
        self.entity = entity
        self._reading = reading
        self._source = source
        self._reader = reader
        self._options = reading.columns.of_type(entity)
        self._constants = {name: value.as_py() for name, value in constants(entity, self._options).items()}
        self._nodes = references(entity, reading.catalog)
        self._integers = {name for name, prop in entity.properties.items() if prop.type.scalar.is_integer}
        self._matched: dict[tuple[str, ...], tuple[dict[str, str], list[ColumnProblem]]] = {}

    def read(self, record: object, number: int) -> None:
        if not isinstance(record, Mapping):
            self._reading.violations.advise('a record is a dict with names of columns, such as {"name": "Ada"}')
            self._reader.malformed(f"expected an object, got {kind_of(record)}", number, self.entity.table_key)
            return
        columns, problems = self._match(tuple(record))
        self._reading.report_columns(problems, self.entity, Place(self._source, number))
        data: dict[str, object] = {stored: plain_value(record[given]) for stored, given in columns.items()}
        for name in self._integers & data.keys():
            data[name] = _whole(data[name])
        data |= self._constants
        for name in (ID, SRC, DST, *text_key(self.entity)):
            if data.get(name) is not None:
                data[name] = self._id(name, data[name], data.get(f"{name}_type"))
        self._reader.read_as(self.entity, data, number)

    def _id(self, name: str, value: object, type_name: object) -> object:
        """The id of a value, as the key of its node type writes it; of a nested one as well."""
        if isinstance(value, Mapping) and value.keys() == {"type", "id"}:
            return {**value, "id": self._id(name, value["id"], value["type"])}
        nodes = self._nodes.get(name, ())
        if len(nodes) > 1:
            nodes = tuple(node for node in nodes if node.name == type_name)
        return id_text(value, nodes[0] if nodes else None)

    def _match(self, names: tuple[str, ...]) -> tuple[dict[str, str], list[ColumnProblem]]:
        """The key of each stored column, for records with these keys."""
        if names not in self._matched:
            # A record may leave out a key that an option names.
            found = match_columns(self.entity, names, self._options, self._reading.types, is_only_type=False)
            if len(self._matched) >= _MATCHES_MAX:
                self._matched.clear()
            columns = {stored: names[index] for stored, index in found.columns.items()}
            self._matched[names] = columns, found.problems
        return self._matched[names]


def _whole(value: object) -> object:
    """A whole float as an integer, as in a column: pandas stores integers with gaps as floats."""
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_MATCHES_MAX = 1_000
"""Sets of keys whose columns are remembered: the input decides how many there are."""
