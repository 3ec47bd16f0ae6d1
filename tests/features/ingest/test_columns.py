"""Columns of frames and records: names, maps, constants, ids and ends, whatever holds them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pydantic
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.write.load.id_order import IdOrder
from tests.features.ingest.test_files import stored

SCHEMA = """
node Person {
  name: String
  age: I32?
}
node Day {
  day: Date @key
}
node Item {
  sku: I64 @key
}
node City {
  name: String @key
}
edge Knows: Person -> Person
edge Buys: Person -> Item
edge On: Person -> Day
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "g.omni", SCHEMA)
    made.load({"id": [1, 2], "name": ["Ada", "Alan"]}, type_name="Person")
    made.load(pa.table({"sku": [7, 8]}), type_name="Item")
    made.load(pa.table({"day": [date(2026, 1, 31)]}), type_name="Day")
    return made


@dataclass
class Person:
    id: int
    name: str


class City(pydantic.BaseModel):
    name: str


def ends(graph: Graph, type_name: str) -> list[tuple[str, str]]:
    lines = b"".join(graph.export(types=[type_name])).splitlines()
    records = [json.loads(line) for line in lines]
    return sorted((record["from"], record["to"]) for record in records)


PEOPLE = [{"id": "1", "name": "Ada"}, {"id": "2", "name": "Alan"}]
FRAME = pandas.DataFrame({"id": [1, 2], "name": ["Ada", "Alan"]})


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME.convert_dtypes(),
        FRAME.astype({"id": "float64"}),
        FRAME.astype({"name": "category"}),
        FRAME.set_index("name").reset_index(),
        polars.DataFrame(FRAME),
        polars.LazyFrame({"id": [1, 2], "name": ["Ada", "Alan"]}),
        duckdb.sql("SELECT * FROM (VALUES (1, 'Ada'), (2, 'Alan')) t(id, name)"),
        {"id": [1, 2], "name": ["Ada", "Alan"]},
        [{"id": 1, "name": "Ada"}, {"id": "2", "name": "Alan"}],
        [Person(1, "Ada"), Person(2, "Alan")],
        ({"id": number, "name": name} for number, name in [(1, "Ada"), (2.0, "Alan")]),
        [{"type": "Person", "data": record} for record in PEOPLE],
    ],
    ids=lambda data: type(data).__module__.partition(".")[0] + "." + type(data).__name__,
)
def test_everything_that_holds_columns_or_records_is_the_same_input(data: Any, graph: Graph) -> None:
    assert graph.load(data, "overwrite", type_name="Person").nodes == {"Person": 2}
    assert [{key: row[key] for key in ("id", "name")} for row in stored(graph, "main")] == PEOPLE


def test_a_class_names_the_type_of_its_objects(graph: Graph) -> None:
    assert graph.load([Person(5, "Kurt")]).nodes == {"Person": 1}
    assert graph.load([City(name="Paris")]).nodes == {"City": 1}


@pytest.mark.parametrize(
    "to", [[7, 8], [7.0, 8.0], ["7", "008"], pa.array([7, 8], pa.uint8()), pa.array(["7", "8"]).dictionary_encode()]
)
def test_ends_hold_the_key_of_their_node_in_any_type(to: Any, graph: Graph) -> None:
    graph.load(pa.table({"Source": [1, 2], "TO": to}), type_name="Buys")
    assert ends(graph, "Buys") == [("1", "7"), ("2", "8")]


def test_dates_and_uuids_are_ids(graph: Graph) -> None:
    for day in (date(2026, 1, 31), "2026-01-31"):
        graph.load(pa.table({"src": [1], "dst": [day]}), type_name="On")
        graph.load([{"src": 1, "dst": day}], type_name="On")
    assert len(ends(graph, "On")) == 4
    number = uuid.UUID(int=5)
    graph.load(pandas.DataFrame({"id": [number], "name": ["u"]}), type_name="Person")
    graph.load([{"from": number, "to": 1}], type_name="Knows")
    assert ends(graph, "Knows") == [(str(number), "1")]
    assert graph.load(pa.table({"name": [75]}), type_name="City").nodes == {"City": 1}


def test_maps_and_constants_apply_to_tables_and_records_alike(graph: Graph) -> None:
    options: dict[str, Any] = {
        "map": {"Person.id": "key", "name": "Full Name"},
        "ignore": ["x"],
        "constant": {"age": "7"},
    }
    for number, data in enumerate([{"key": [9], "Full Name": ["A"], "x": [1]}, [{"key": 9, "Full Name": "A", "x": 1}]]):
        graph.load(data, "overwrite", type_name="Person", **options)
        assert stored(graph, "main") == [{"age": 7, "id": "9", "name": "A"}], number


def test_a_column_that_is_mapped_keeps_its_own_property(graph: Graph) -> None:
    graph.load({"name": ["Zoe"]}, "overwrite", type_name="Person", map={"id": "name"})
    assert [(row["id"], row["name"]) for row in stored(graph, "main")] == [("Zoe", "Zoe")]


@pytest.mark.parametrize(
    ("parts", "is_ascending"),
    [
        ([["8", "9"], ["10", "11"]], True),
        ([["a", "ab"], ["b"]], True),
        ([["a", "b"], ["b"]], False),
        ([["10", "9"]], True),
        ([["10", "9"], ["10"]], False),
        ([["9", "10"], ["10"]], False),
        ([[], ["1"], []], True),
    ],
)
def test_only_ids_that_cannot_repeat_are_taken_to_ascend(parts: list[list[str]], is_ascending: bool) -> None:
    order = IdOrder()
    for part in parts:
        order = order.followed_by(pa.array(part, pa.utf8()))
    assert order.is_ascending == is_ascending
