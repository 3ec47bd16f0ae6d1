"""NetworkX graphs as tables by type."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import UsageError
from omnigraph.ingest.networkx import from_networkx, type_name

nx = pytest.importorskip("networkx")


def test_attributes_become_columns_of_the_type_that_the_attribute_names() -> None:
    graph = nx.DiGraph()
    graph.add_node("ann", type="Person", age=30)
    graph.add_node("oslo", type="city", name="Oslo")
    graph.add_edge("ann", "oslo", type="lives in", since=2020)
    tables = from_networkx(graph)
    assert {name: table.to_pylist() for name, table in tables.items()} == {
        "Person": [{"id": "ann", "age": 30}],
        "City": [{"id": "oslo", "name": "Oslo"}],
        "LivesIn": [{"src": "ann", "dst": "oslo", "since": 2020}],
    }
    assert tables.ends == {"LivesIn": ("Person", "City")}
    assert "LivesIn  Person -> City" in repr(tables)


def test_a_plain_graph_has_one_type_of_nodes_with_integer_ids_and_one_of_edges() -> None:
    tables = from_networkx(nx.karate_club_graph())
    assert list(tables) == ["Node", "Edge"]
    assert tables["Node"].num_rows == 34
    assert tables["Edge"].num_rows == 78
    assert tables["Node"].schema.field("id").type == "int64"
    assert tables["Edge"]["weight"].to_pylist()[0] == 4


def test_keys_of_a_multigraph_are_types_without_types_and_ids_with_them() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", key="knows")
    graph.add_edge("a", "b", key="likes")
    graph.add_edge("a", "b", key="e1", type="Follows")
    tables = from_networkx(graph)
    assert tables["Knows"].to_pylist() == [{"src": "a", "dst": "b"}]
    assert tables["Follows"].to_pylist() == [{"id": "e1", "src": "a", "dst": "b"}]


def test_an_edge_type_between_several_node_types_becomes_one_for_each_pair() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from([("a", {"type": "Person"}), ("x", {"type": "City"}), ("y", {"type": "Firm"})])
    graph.add_edges_from([("a", "x", {"type": "Likes"}), ("a", "y", {"type": "Likes"})])
    assert from_networkx(graph).ends == {
        "PersonLikesCity": ("Person", "City"),
        "PersonLikesFirm": ("Person", "Firm"),
    }


def test_values_that_are_missing_are_null_and_numbers_of_two_kinds_are_floats() -> None:
    graph = nx.Graph()
    graph.add_node(1, size=1)
    graph.add_node(2, size=2.5)
    graph.add_node((3, 4))
    assert from_networkx(graph)["Node"].to_pylist() == [
        {"id": "1", "size": 1.0},
        {"id": "2", "size": 2.5},
        {"id": "(3, 4)", "size": None},
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("a", {"age": 1}), ("b", {"age": 2}), ("c", {"age": "x"})], "'x' at 'c'"),
        ([("a", {"type": "!"})], "'!' cannot be the name of a type"),
    ],
)
def test_what_has_no_place_in_a_table_is_named(given: Any, message: str) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(given)
    with pytest.raises(UsageError, match=message):
        from_networkx(graph)


def test_other_values_are_refused() -> None:
    with pytest.raises(UsageError, match="a dict is not a NetworkX graph"):
        from_networkx({})


@pytest.mark.parametrize(
    ("given", "name"), [("person", "Person"), ("WORKS_AT", "WORKS_AT"), ("lives-in", "LivesIn"), (":User", "User")]
)
def test_the_name_of_a_type_is_kept_where_it_is_valid(given: str, name: str) -> None:
    assert type_name(given) == name
