"""Layouts of new versions: made from the one before, and the same as those read from the version."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest.mock import patch

from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.exec.columns import Columns
from omnigraph.storage.tables import columns_by_fragment
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.table_schema import column_numbers

SCHEMA = """
node Person { name: String @key age: I32? }
edge Knows: Person -> Person
"""
TABLES = ("node:Person", "edge:Knows")
PERSON = "query a($name: String) { insert Person { name: $name, age: 1 } }"
EDGE = "query a($from: String, $to: String) { insert Knows { from: $from, to: $to } }"
AGE = "query s($name: String) { update Person set { age: 2 } where name = $name }"
REMOVE = "query d($name: String) { delete Person where name = $name }"


def start(directory: Path) -> Graph:
    graph = create(directory / "g", SCHEMA, durability="os")
    people = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(4)]
    graph.load([*people, {"edge": "Knows", "from": "p0", "to": "p1"}], "append")
    return graph


def assert_as_read(graph: Graph) -> None:
    """Every layout in the cache of a graph equals the one that its version describes."""
    store, tables = graph._store, graph.snapshot().state.tables
    for key in TABLES:
        pin = tables[key]
        kept, read = layout_of(store, pin), columns_by_fragment._read(open_table(store, pin))
        assert (kept.parts, kept.dead.tolist(), kept.fields) == (read.parts, read.dead.tolist(), read.fields)
        assert kept.digest == read.digest
        assert kept.numbers == column_numbers(store.open_pin(pin))


def test_the_layout_of_an_insert_is_not_read(tmp_path: Path) -> None:
    graph = start(tmp_path)
    assert_as_read(graph)
    with patch.object(columns_by_fragment, "_read", wraps=columns_by_fragment._read) as read:
        graph.mutate(EDGE, {"from": "p1", "to": "p2"})
        layout_of(graph._store, graph.snapshot().state.tables["edge:Knows"])
    assert read.call_count == 0


def test_layouts_made_by_writes_are_those_of_their_versions(tmp_path: Path) -> None:
    draw = Random(7)
    graph = start(tmp_path)
    names = [f"p{number}" for number in range(4)]
    for number in range(60):
        match draw.randrange(6):
            case 0 | 1:
                names.append(f"n{number}")
                graph.mutate(PERSON, {"name": names[-1]})
            case 2 | 3:
                graph.mutate(EDGE, {"from": draw.choice(names), "to": draw.choice(names)})
            case 4:
                graph.mutate(AGE, {"name": draw.choice(names)})
            case _ if len(names) > 2:
                graph.mutate(REMOVE, {"name": names.pop(draw.randrange(len(names)))})
            case _:
                pass
        assert_as_read(graph)
    # Another process reads every layout.
    assert_as_read(open_graph(tmp_path / "g"))


def test_readers_of_columns_are_dropped_with_the_columns(tmp_path: Path) -> None:
    graph = start(tmp_path)
    pin, columns = graph.snapshot().state.tables["node:Person"], Columns()
    made = [columns.reader(pin, "a use", object) for _ in range(2)]
    assert made[0] is made[1]
    columns._columns.evictions += 1
    assert columns.reader(pin, "a use", object) is not made[0]
    assert columns.reader(pin, "another use", lambda: None) is None
