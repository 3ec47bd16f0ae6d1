"""Tables through a mapping, in this process: the columns of each entry under their stored names, with places.

Every entry reads its source from the start, one file after the other, as Spark does. Nothing but one batch is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.ingest.mapped_sources import MappedSources
from omnigraph.ingest.mapping import EntitySpec, Expression, parse_mapping
from omnigraph.ingest.reading import Reading
from omnigraph.ingest.row_sql import ReportRow, RowSql
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.rows.casting.arrow_casts import plain
from omnigraph.rows.read.arrow import as_texts, reference_ids
from omnigraph.rows.rejected.records import json_form
from omnigraph.rows.typed_rows import PlacedBatch, TypedRows
from omnigraph.rows.violations import Place, Violation, ViolationCode
from omnigraph.schema.catalog import EdgeType, NodeType

_ENDS = {"from": SRC, "to": DST}


def read_mapped(
    mapping: object, given: Mapping[str, Any], reading: Reading, options: Mapping[str, str]
) -> Iterator[tuple[str, TypedRows]]:
    """The rows of every entry, each with the name of its source. Mistakes in the mapping are raised before any row."""
    parsed = parse_mapping(mapping, reading.catalog)
    with MappedSources(parsed, given, options) as sources:
        for spec in parsed.entities:
            schema = sources.schema(spec.source)
            with _opened(Selection.of(spec, schema, reading.catalog.nodes), schema):
                continue
        for spec in parsed.entities:
            report = partial(reading.report, table_key=spec.entity.table_key)
            for opened in sources.tables(spec.source, report):
                with opened as table:
                    named = replace(table, name=reading.part(table.name))
                    selection = Selection.of(spec, named.schema, reading.catalog.nodes)
                    with _opened(selection, named.schema) as sql:
                        chosen = selected(named, selection, sql, reading)
                        yield from ((named.name, typed) for typed in reading.typed(chosen, spec.entity))


@dataclass(frozen=True)
class Selection:
    """The origin of every stored column of an entry. The parts of an end are numbered: ``src.0``."""

    spec: EntitySpec
    columns: Mapping[str, Expression]
    ends: Mapping[str, NodeType | None]

    @classmethod
    def of(cls, spec: EntitySpec, schema: pa.Schema, nodes: Mapping[str, NodeType]) -> Selection:
        """The selection from a table with these columns; raises UsageError that names the position in the mapping."""
        columns = spec.chosen_columns(schema.names)
        ends = end_nodes(spec, nodes)
        for end, parts in spec.ends.items():
            columns |= {f"{_ENDS[end]}.{number}": part for number, part in enumerate(parts)}
        columns |= {f"{_ENDS[end]}_type": part for end, part in spec.types.items()}
        for expression in columns.values():
            _check_column(expression, schema.names)
        return cls(spec, columns, ends)

    @property
    def where(self) -> Expression | None:
        """The predicate that selects rows."""
        spec = self.spec
        return None if spec.where is None else Expression(f"{spec.at}.where", sql=spec.where)

    @property
    def computed(self) -> list[str]:
        """The columns that SQL expressions give."""
        return [name for name, expression in self.columns.items() if expression.sql is not None]


def end_nodes(spec: EntitySpec, nodes: Mapping[str, NodeType]) -> dict[str, NodeType | None]:
    """The node types at the ends of an entry; None for an end whose rows have several, whose ids are read later."""
    found: dict[str, NodeType | None] = {}
    for end in spec.entity.ends if isinstance(spec.entity, EdgeType) else ():
        given = spec.types.get(end.word)
        name = end.types[0] if not end.is_typed else None if given is None else given.value
        found[end.column] = nodes.get(str(name))
    return found


def _check_column(expression: Expression, names: Sequence[str]) -> None:
    if expression.column is not None and expression.column not in names:
        hint = did_you_mean(expression.column, names) or f"the columns are {', '.join(names)}"
        raise UsageError(f"{expression.at}: there is no column {expression.column!r}", hint=hint, at=expression.at)
    if expression.column is None and expression.sql is None:
        constant_value(expression)


def _opened(selection: Selection, schema: pa.Schema) -> AbstractContextManager[RowSql | None]:
    """The SQL of an entry, checked and open; raises UsageError."""
    computed = [selection.columns[name] for name in selection.computed]
    if selection.where is None and not computed:
        return nullcontext()
    return closing(RowSql(schema, selection.where, computed))


def selected(table: SourceTable, selection: Selection, sql: RowSql | None, reading: Reading) -> SourceTable:
    """The table of an entry: stored columns of the rows that ``where`` keeps."""

    def batches() -> Iterator[PlacedBatch]:
        for batch, lines in table.batches:
            rows: pa.Array | None = None
            values: list[pa.Array] = []
            if sql is not None:
                rows, values = sql.evaluate(batch, _reporting(table.name, selection.spec, batch, lines, reading))
            yield _stored(selection, batch, lines, rows, values)

    empty = pa.RecordBatch.from_arrays([pa.nulls(0, item.type) for item in table.schema], schema=table.schema)
    none, values = (None, []) if sql is None else sql.evaluate(empty, _no_row)
    schema = _stored(selection, empty, pa.array([], pa.int64()), none, values).batch.schema
    return SourceTable(table.name, schema, batches(), is_text=True)


def _no_row(row: int, expression: Expression, reason: str) -> None:
    raise AssertionError("an empty table has no row")


def _reporting(name: str, spec: EntitySpec, batch: pa.RecordBatch, lines: pa.Array, reading: Reading) -> ReportRow:
    """Reports rows whose expressions fail. A load that rejects rows keeps the row of the source as their record."""

    def report(row: int, expression: Expression, reason: str) -> None:
        line = lines[row].as_py()
        message = f"{expression.at}: {reason}"
        place = Place(name, line)
        reading.violations.add(Violation(ViolationCode.TYPE, message, spec.entity.table_key, place=place))
        if reading.rejecting is not None:
            reading.rejecting.kept[name][line] = json_form(batch.slice(row, 1).to_pylist()[0])

    return report


def _stored(
    selection: Selection, batch: pa.RecordBatch, lines: pa.Array, rows: pa.Array | None, values: Sequence[pa.Array]
) -> PlacedBatch:
    kept = lines if rows is None else lines.take(rows)
    computed = dict(zip(selection.computed, values, strict=True))
    arrays: dict[str, pa.Array] = {}
    for name, expression in selection.columns.items():
        if expression.column is not None:
            # Arrow cannot choose rows of text views, which polars makes.
            column = plain(batch.column(expression.column))
            arrays[name] = column if rows is None else column.take(rows)
        else:
            arrays[name] = computed[name] if name in computed else pa.repeat(constant_value(expression), len(kept))
    return PlacedBatch(stored_batch(arrays, selection.ends, len(kept)), kept)


def stored_batch(arrays: Mapping[str, pa.Array], ends: Mapping[str, NodeType | None], rows: int) -> pa.RecordBatch:
    """Stored columns: ids as text, and the ids of both ends from their key columns, which are named ``src.0``."""
    named = {name: array for name, array in arrays.items() if "." not in name}
    if not named and not ends:
        # A batch without columns would have no rows.
        named[ID] = pa.nulls(rows, pa.utf8())
    if ID in named:
        named[ID] = as_texts(named[ID])
    for end, node in ends.items():
        parts = [array for name, array in arrays.items() if name.startswith(f"{end}.")]
        named[end] = parts[0] if node is None else reference_ids(node, parts)
    return pa.RecordBatch.from_pydict(named)


def constant_value(expression: Expression) -> pa.Scalar:
    """A constant of a mapping as a value of Arrow. A time without a zone is UTC."""
    try:
        return pa.scalar(_plain(expression.value))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{expression.at}: {expression.value!r} is no constant",
            hint="a constant is a text, a number, true or false, a date, a time, or a list of these",
            at=expression.at,
        ) from error


_INTEGER_BITS = 63


def _plain(value: object) -> object:
    match value:
        case datetime() if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        case int() if value.bit_length() > _INTEGER_BITS:
            return Decimal(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            raise TypeError("a mapping")
    return value
