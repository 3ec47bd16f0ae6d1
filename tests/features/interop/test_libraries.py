"""Graphs in other graph libraries, and back."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import omnigraph
from tests.support.interop_graph import SCHEMA, interop_graph

nx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    return interop_graph(tmp_path_factory.mktemp("interop"))


def test_a_networkx_graph_has_every_entity_with_its_properties(graph: omnigraph.Graph) -> None:
    found = graph.to_networkx()
    assert found.is_directed()
    assert found.is_multigraph()
    assert found.nodes["ann"] == {
        "type": "Person",
        "name": "ann",
        "zip": "1",
        "age": 30,
        "score": 0.1,
        "vector": [0.1, 0.2, 0.3],
    }
    assert found.nodes["bob"] == {"type": "Person", "name": "bob", "age": 40}
    assert found.edges["ann", "bob", "e1"] == {"type": "Knows", "since": 2020, "weight": 2.0}
    assert found.number_of_edges("ann", "bob") == 2


def test_only_ids_that_two_types_share_are_named_with_the_type(graph: omnigraph.Graph) -> None:
    assert set(graph.to_networkx().nodes) == {"ann", "bob", "Person:paris", "City:paris", "oslo"}
    assert set(graph.to_networkx("Knows").nodes) == {"ann", "bob", "paris"}
    assert graph.to_networkx("Knows").number_of_edges() == 3
    assert graph.to_networkx("City").number_of_edges() == 0


def test_a_graph_that_went_to_networkx_and_back_is_equal(graph: omnigraph.Graph, tmp_path: Path) -> None:
    copy = omnigraph.create(tmp_path / "copy", SCHEMA)
    copy.load(omnigraph.from_networkx(graph.to_networkx()), "append")
    assert b"".join(copy.export()) == b"".join(graph.export())


def test_an_igraph_graph_has_the_same_names_and_edges(graph: omnigraph.Graph) -> None:
    pytest.importorskip("igraph")
    found = graph.to_igraph()
    other = graph.to_networkx()
    assert set(found.vs["name"]) == set(other.nodes)
    assert found.vs.find(name="ann")["age"] == 30
    named = [(found.vs[edge.source]["name"], found.vs[edge.target]["name"]) for edge in found.es]
    assert sorted(named) == sorted(other.edges())
    assert found.es["since"][named.index(("ann", "bob"))] == 2020


def test_a_pyg_graph_maps_ids_to_positions_and_holds_numbers_as_features(graph: omnigraph.Graph) -> None:
    pytest.importorskip("torch_geometric")
    data = graph.to_pyg(missing=0.0)
    person = data["Person"]
    index = person.index
    assert [index.ids[index[id_]] for id_ in ("ann", "bob", "paris")] == ["ann", "bob", "paris"]
    assert data.feature_names["Person"] == ["age", "score", "vector[0]", "vector[1]", "vector[2]"]
    assert person.x[index["bob"]].tolist() == [40.0, 0.0, 0.0, 0.0, 0.0]
    sources, targets = data["Person", "LivesIn", "City"].edge_index.tolist()
    pairs = {(index.ids[s], data["City"].index.ids[t]) for s, t in zip(sources, targets, strict=True)}
    assert pairs == {("ann", "paris"), ("paris", "oslo")}
    assert data.validate()
    assert math.isnan(graph.to_pyg(features={"Person": ["score"]})["Person"].x[index["bob"], 0])


def test_a_conversion_reads_the_commit_that_is_named(graph: omnigraph.Graph) -> None:
    first = list(graph.commits())[-1].id
    assert len(graph.to_networkx(at=first)) == 0


def test_a_wrong_type_is_named_with_a_suggestion(graph: omnigraph.Graph) -> None:
    with pytest.raises(omnigraph.OmnigraphError, match="there is no type 'Persn'"):
        graph.to_networkx("Persn")
