"""One query through the engine and through the naive evaluator, and whether the answers agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.snapshot import Snapshot
from omnigraph.lang.gq_ast import ReadBody
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.schema.catalog import Catalog, EdgeEnd
from omnigraph.schema.types import type_from_syntax
from tests.features.exec.naive import Answer, Naive
from tests.features.exec.naive_values import Data, Node, Path


def read_data(snapshot: Snapshot) -> Data:
    """A snapshot as dicts, read table by table without the executor."""
    data = Data()
    for name, node in snapshot.catalog.nodes.items():
        rows = plain(snapshot.to_arrow(node.table_key))
        data.nodes[name] = {row.pop("id"): row for row in rows}
    for name, edge in snapshot.catalog.edges.items():
        rows = plain(snapshot.to_arrow(edge.table_key))
        data.edges[name] = {row.pop("id"): (*(_node(end, row) for end in edge.ends), row) for row in rows}
    return data


def _node(end: EdgeEnd, row: dict[str, Any]) -> Node:
    """The node at an end; only an end with several types says which one it is."""
    type_name = row.pop(f"{end.column}_type") if end.is_typed else end.types[0]
    return Node(type_name, row.pop(end.column))


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with days and milliseconds for dates and times."""
    columns = [_numbers(_whole(column)).to_pylist() for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [_numbers(_whole(column)).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """The values in one piece, which Arrow does not make of no chunks of structs that hold JSON."""
    if column.num_chunks == 0:
        storage = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
        return pa.nulls(0) if pa.types.is_struct(storage) else pa.array([], storage)
    return column.combine_chunks()


def _numbers(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        return column.storage
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_time32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        return pa.StructArray.from_arrays([_numbers(part) for part in column.flatten()], names, mask=column.is_null())
    if pa.types.is_list(column.type):
        item = column.type.value_type
        if pa.types.is_date32(item) or pa.types.is_time32(item):
            return column.cast(pa.list_(pa.int32()))
        if pa.types.is_timestamp(item) or pa.types.is_duration(item):
            return column.cast(pa.list_(pa.int64()))
    return column


def expected(catalog: Catalog, data: Data, text: str, values: Mapping[str, Any], now_ms: int) -> tuple[Answer, Naive]:
    query = parse_queries(Source(text)).file.queries[0]
    assert isinstance(query.body, ReadBody)
    declared = {parameter.variable.name: type_from_syntax(parameter.type) for parameter in query.parameters}
    naive = Naive(catalog, data, values, now_ms, declared)
    return naive.run(query.body), naive


def assert_same(result: QueryResult, answer: Answer, naive: Naive) -> None:
    """Equal as multisets; in order where one was asked for; a part of the whole where only some rows were."""
    assert result.columns == answer.columns
    actual = [tuple(_column(answer, place, cell) for place, cell in enumerate(row)) for row in plain_rows(result.table)]
    wanted = [tuple(_column(answer, place, cell) for place, cell in enumerate(row)) for row in answer.rows]
    if any(isinstance(cell, Path) for row in answer.rows for cell in row):
        actual, wanted = _paths_checked(actual, answer, naive)
    stop = None if answer.limit is None else answer.offset + answer.limit
    shown = wanted[answer.offset : stop]
    assert len(actual) == len(shown), (actual, shown)
    if not answer.ordered:
        assert not Counter(actual) - Counter(wanted), (actual, wanted)
        return
    if len(set(map(_cell, answer.keys))) == len(answer.keys) or len(set(wanted)) < 2:
        assert actual == shown
        return
    # Rows with equal keys may come in any order among themselves: anonymous ends, lists.
    groups: dict[Any, Counter[Any]] = {}
    for key, row in zip(map(_cell, answer.keys), wanted, strict=True):
        groups.setdefault(key, Counter())[row] += 1
    for key, row in zip(map(_cell, answer.keys[answer.offset : stop]), actual, strict=True):
        assert groups[key][row] > 0, (row, groups[key])
        groups[key][row] -= 1


def _column(answer: Answer, place: int, value: Any) -> Any:
    """A cell of a column, without what two evaluations may do differently."""
    if place in answer.rounded and value is not None:
        return f"{value:.9g}"
    return _cell(sorted(value) if place in answer.collected else value)


def _cell(value: Any) -> Any:
    """Zero has one sign, and lists can be hashed."""
    if isinstance(value, dict):
        return tuple(sorted((name, _cell(item)) for name, item in value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(_cell, value))
    if isinstance(value, float):
        assert not math.isnan(value)
        return value + 0.0
    return value


def _paths_checked(
    actual: list[tuple[Any, ...]], answer: Answer, naive: Naive
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Every path that was found is one of the shortest; then only its ends and length count."""
    places = {place for row in answer.rows for place, cell in enumerate(row) if isinstance(cell, Path)}
    paths = {
        place: {(p.source, p.target, p.length): p for row in answer.rows if isinstance(p := row[place], Path)}
        for place in places
    }

    exact = {place: any(isinstance(p := row[place], Path) and p.nodes for row in answer.rows) for place in places}

    def reduced(place: int, cell: Any) -> Any:
        if place not in places or cell is None:
            return cell
        if isinstance(cell, Path):
            return cell.nodes or (cell.source, cell.target, cell.length)
        if exact[place]:
            return tuple(cell)
        key = (cell[0], cell[-1], len(cell) - 1)
        assert key in paths[place], cell
        assert naive.is_path(paths[place][key], list(cell)), cell
        return key

    def all_reduced(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [tuple(_cell(reduced(place, cell)) for place, cell in enumerate(row)) for row in rows]

    return all_reduced(actual), all_reduced(answer.rows)
