"""Lookups of writers and queries in large tables go through the index, and read little."""

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.storage.tables.filters import ids_filter
from omnigraph.storage.tables.scan import find_ids, rows_with

SCHEMA = "node P { name: String @key }\nedge K: P -> P"
ROWS = 60_000
UNCACHED = Tuning(cached_table_rows_max=0)


def name(number: int) -> str:
    return f"person-{number:07}"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=UNCACHED)
    names = [name(number * 7_919 % ROWS) for number in range(ROWS)]
    graph.load(pa.table({"name": names}), "append", type_name="P")
    graph.load(pa.table({"src": names, "dst": names[::-1]}), "append", type_name="K")
    return graph


def pin_of(graph: omnigraph.Graph, key: str) -> TablePin:
    return graph.snapshot().state.tables[key]


def bytes_read(graph: omnigraph.Graph, ids: list[str]) -> tuple[dict[str, int], int, int]:
    """What the lookup of ids finds, and the bytes that it and a lookup of edges at them read, in a fresh handle."""
    store = omnigraph.open(graph.uri, tuning=UNCACHED)._store
    people, edges = pin_of(graph, "node:P"), pin_of(graph, "edge:K")
    # Handles of one store count together.
    counter = store.open(people.location, people.lance_version)
    store.open(edges.location, edges.lance_version)
    counter.io_stats_incremental()
    found = find_ids(store, people, ids)
    of_people = counter.io_stats_incremental().read_bytes
    rows = sum(batch.num_rows for batch in rows_with(store, edges, "src", ids, ["id"]))
    assert rows == len(found)
    return found, of_people, counter.io_stats_incremental().read_bytes


def test_ids_and_edges_are_looked_up_in_the_index(graph: omnigraph.Graph) -> None:
    ids = [name(3), name(12_345), "nobody"]
    plain, people_before, edges_before = bytes_read(graph, ids)
    graph.optimize()
    indexed, people_after, edges_after = bytes_read(graph, ids)
    assert set(plain) == set(indexed) == {name(3), name(12_345)}
    assert people_after * 2 < people_before
    assert edges_after * 2 < edges_before
    for key, column in (("node:P", "id"), ("edge:K", "src"), ("edge:K", "dst")):
        pin = pin_of(graph, key)
        dataset = graph._store.open(pin.location, pin.lance_version)
        for wanted in (ids, [name(number) for number in range(2_000)]):
            scanner = dataset.scanner(columns=["id"], filter=ids_filter(column, wanted))
            assert "ScalarIndexQuery" in scanner.explain_plan()
