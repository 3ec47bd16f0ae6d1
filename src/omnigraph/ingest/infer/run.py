"""Inference: from data to an ``InferredSchema``, in two passes over each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.errors import Hint, InputError, UsageError
from omnigraph.ingest.infer.ends import Overlaps, compared_columns
from omnigraph.ingest.infer.facts import TableFacts
from omnigraph.ingest.infer.inputs import table_sources
from omnigraph.ingest.infer.known import with_known_types
from omnigraph.ingest.infer.planned.joined import with_shared_keys
from omnigraph.ingest.infer.planned.types import PlannedType
from omnigraph.ingest.infer.plans import node_keys, plan_types
from omnigraph.ingest.infer.result import InferredSchema, InferredType
from omnigraph.ingest.infer.sources import TableSource
from omnigraph.ingest.infer.statistics import Statistics, open_statistics
from omnigraph.ingest.infer.text import guesses, schema_text
from omnigraph.ingest.infer.typed_tables import stored_columns, typed_sources
from omnigraph.rows.arrow_types import DST, SRC
from omnigraph.schema.catalog import Catalog

_ENDS = {SRC: "from", DST: "to"}
_ENVELOPE = frozenset({"type", "edge", "from", "to", "data"})


def infer(data: Any, options: Mapping[str, str], known: Catalog | None = None) -> InferredSchema:
    """The schema of data, with all that a load of the same data needs. ``known`` is that of an existing graph."""
    sources = table_sources(data, options)
    if known is not None:
        sources = with_known_types(sources, known)
    with open_statistics() as statistics:
        tables = [statistics.first_pass(source) for source in sources]
        for table in tables:
            _check(table)
        tables = [
            statistics.second_pass(source, number, table)
            for number, (source, table) in enumerate(zip(sources, tables, strict=True))
        ]
        overlaps = {number: _overlaps(statistics, number, tables) for number in range(len(tables))}
        planned = with_shared_keys([_with_pairs(type_, statistics, tables) for type_ in plan_types(tables, overlaps)])
    matched = _matched(planned, tables, sources)
    return InferredSchema(schema_text(planned), tuple(map(_described, planned)), typed_sources(planned, matched))


def _check(table: TableFacts) -> None:
    names = [column.name for column in table.columns]
    if not names:
        raise InputError(f"{table.source} has no columns", hint="give it a column for each property", path=table.source)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{table.source} has two columns {repeated!r}", hint="rename one of them", path=table.source)
    if "data" in names and _ENVELOPE.issuperset(names):
        raise UsageError(
            f"{table.source} holds entities with their types, as export writes them, not a table",
            hint=Hint(
                f"create the graph with its schema, then load the file: graph.load({table.source!r})",
                f"create the graph with its schema, then load the file: omnigraph load GRAPH --data {table.source}",
            ),
            path=table.source,
        )


def _overlaps(statistics: Statistics, number: int, tables: Sequence[TableFacts]) -> Overlaps:
    """The overlaps of the columns of a table with the keys of all others."""
    table = tables[number]
    if table.declared.is_edge is False:
        return {}
    keys = {other: key for other, key in node_keys(tables).items() if other != number}
    return {
        (column.name, key.type): statistics.overlap(number, column, other, tables[other].column(key.column))
        for column in compared_columns(table)
        for other, key in keys.items()
    }


def _with_pairs(type_: PlannedType, statistics: Statistics, tables: Sequence[TableFacts]) -> PlannedType:
    """An edge type whose edges have no ids, with the fact that its pairs of nodes identify them."""
    table = type_.table
    if type_.ends is None or type_.id_column is not None or table is None:
        return type_
    columns = [table.column(end.column) for end in type_.ends]
    number = next(number for number, known in enumerate(tables) if known is table)
    is_compared = all(column in compared_columns(table) for column in columns)
    return replace(type_, has_unique_pairs=is_compared and statistics.are_unique(number, columns))


def _described(planned: PlannedType) -> InferredType:
    columns = {_ENDS.get(name, name): column for name, column in stored_columns(planned).items()}
    return InferredType(
        planned.name,
        "edge" if planned.is_edge else "node",
        planned.table.source if planned.table else ", ".join(dict.fromkeys(name for name, _ in planned.edges_of)),
        planned.table.rows if planned.table else 0,
        columns,
        tuple(column for column, _ in planned.ignored),
        tuple(guesses(planned)),
        None if planned.ends is None else (str(planned.ends[0].type), str(planned.ends[1].type)),
    )


def _matched(
    planned: Sequence[PlannedType], tables: Sequence[TableFacts], sources: Sequence[TableSource]
) -> tuple[TableSource | None, ...]:
    """The source of each planned type; None for nodes that only edges mention."""
    by_table = {id(table): source for table, source in zip(tables, sources, strict=True)}
    return tuple(None if type_.table is None else by_table[id(type_.table)] for type_ in planned)
