"""A value that could be stored but not printed, compared or written again changes nothing, whichever way it comes."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import CompileError, ParameterError, ViolationError
from omnigraph.wire.results import result_json
from tests.promises.protocol.graphs import contents, create

SCHEMA = """
node Event { name: String @key
    day: Date?
    at: DateTime?
    score: F64?
    tags: [String]?
    note: String? }
edge Follows: Event -> Event { since: Date? }
"""
Load = Callable[[omnigraph.Graph, str, object], object]

GOOD: dict[str, object] = {"day": 0, "at": 0, "score": 1.5, "tags": ["a"], "note": "a"}
BAD: dict[str, list[object]] = {
    "day": [2_932_897, -719_163],
    "at": [253_402_300_800_000, -62_135_596_800_001],
    "score": [float("nan"), float("inf")],
    "tags": [["a", None]],
}


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = create(tmp_path, SCHEMA)
    graph.load([{"type": "Event", "data": {"name": "kept", **GOOD}}], "append")
    return graph


def _records(name: str, value: object) -> list[dict[str, Any]]:
    return [
        {"type": "Event", "data": {"name": "good", name: GOOD[name]}},
        {"type": "Event", "data": {"name": "bad", name: value}},
    ]


def _by_lines(graph: omnigraph.Graph, name: str, value: object) -> object:
    text = "".join(json.dumps(record) + "\n" for record in _records(name, value))
    return graph.load(io.BytesIO(text.encode()), "append")


def _by_records(graph: omnigraph.Graph, name: str, value: object) -> object:
    return graph.load(_records(name, value), "merge")


def _by_arrow(graph: omnigraph.Graph, name: str, value: object) -> object:
    return graph.load(pa.table({"name": ["good", "bad"], name: [GOOD[name], value]}), "append", type_name="Event")


def _by_frame(graph: omnigraph.Graph, name: str, value: object) -> object:
    frame = pl.DataFrame({"name": ["good", "bad"], name: pl.Series([GOOD[name], value], strict=False)})
    return graph.load(frame, "overwrite", type_name="Event")


@pytest.mark.parametrize("load", [_by_lines, _by_records, _by_arrow, _by_frame])
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_load_names_the_place_of_a_bad_value_and_changes_nothing(
    graph: omnigraph.Graph, load: Load, name: str, value: object
) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(ViolationError, match=":2: ") as refused:
        load(graph, name, value)
    assert refused.value.code == "violation"
    assert graph.snapshot().commit_id == before
    assert [row["name"] for row in contents(graph)["Event"]] == ["kept"]


def test_bytes_that_are_no_utf8_name_their_row_and_change_nothing(graph: omnigraph.Graph) -> None:
    raw = pa.array([b"good", b"caf\xe9"], pa.binary())
    broken = pa.Array.from_buffers(pa.utf8(), 2, raw.buffers())
    before = graph.snapshot().commit_id
    for name, columns in {
        "Event": [{"name": broken}, {"name": ["a", "b"], "note": broken}],
        "Follows": [{"from": broken, "to": ["kept", "kept"]}],
    }.items():
        for table in columns:
            with pytest.raises(ViolationError, match=f"<{name}>:2: .*UTF-8"):
                graph.load(pa.table(table), "append", type_name=name)
    assert graph.snapshot().commit_id == before


EAST = timezone(timedelta(hours=1))
PARAMETERS = [
    ("day", "Date", datetime(1, 1, 1, tzinfo=EAST)),
    ("day", "Date", "10000-01-01"),
    ("at", "DateTime", datetime(1, 1, 1, tzinfo=EAST)),
    ("at", "DateTime", "0001-01-01T00:00:00+01:00"),
    ("at", "DateTime", 253_402_300_800_000),
    ("score", "F64", float("nan")),
    ("score", "F64", float("inf")),
    ("tags", "[String]", ["a", None]),
    ("tags", "[String]", ["a", "\ud800"]),
    ("note", "String", "\ud800"),
]


@pytest.mark.parametrize(("name", "type_", "value"), PARAMETERS, ids=ascii)
def test_a_parameter_of_a_mutation_is_held_to_the_same_rule(
    graph: omnigraph.Graph, name: str, type_: str, value: object
) -> None:
    before = graph.snapshot().commit_id
    for statement in (
        f'insert Event {{ name: "b", {name}: $v }}',
        f'update Event set {{ {name}: $v }} where name = "a"',
    ):
        with pytest.raises(ParameterError, match="param 'v"):
            graph.mutate(f"query q($v: {type_}) {{ {statement} }}", {"v": value})
    assert graph.snapshot().commit_id == before


@pytest.mark.parametrize("value", ['"\ud800"', 'datetime("10000-01-01")', '["a", null]'], ids=ascii)
def test_a_literal_of_a_mutation_is_held_to_the_same_rule(graph: omnigraph.Graph, value: str) -> None:
    name = {'"': "note", "d": "at", "[": "tags"}[value[0]]
    with pytest.raises(CompileError):
        graph.mutate(f'query q() {{ insert Event {{ name: "b", {name}: {value} }} }}')


def test_the_first_and_the_last_moment_can_be_written_read_and_deleted(graph: omnigraph.Graph) -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    table = pa.table({"name": ["first", "last"], "at": pa.array([first, last], pa.timestamp("ms", tz="UTC"))})
    graph.load(table, "append", type_name="Event")
    found = graph.query('query q() { match { $e: Event  $e.name != "kept" } return { $e.at } order { $e.at } }')
    assert [row["e.at"] for row in result_json(found)["rows"]] == [
        "0001-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
    ]
    graph.mutate('query q() { update Event set { note: "n" } where name = "first" }')
    graph.mutate("query q($t: DateTime) { delete Event where at = $t }", {"t": last})
    assert sorted(row["name"] for row in contents(graph)["Event"]) == ["first", "kept"]
