"""Data of Neo4j, NetworkX, SNAP and JSON becomes a graph with the types that it states or shows."""

import json
from pathlib import Path

import networkx
import pytest

import omnigraph
from omnigraph.errors import UsageError, ViolationError

NEO4J = {
    "persons-header.csv": "personId:ID(Person),name,age:int,tags:string[],:LABEL,note:IGNORE\n",
    "persons.csv": "p1,Ada,36,a;b,Person,x\np2,Bob,,,Person;Admin,y\n",
    "movies.csv": "movieId:ID(Movie),title,:LABEL\nm1,Matrix,Movie\n",
    "roles.csv": ":START_ID(Person),role,:END_ID(Movie),:TYPE\np1,Neo,m1,ACTED_IN\np2,Smith,m1,DIRECTED\n",
    "things.csv": "id:ID,name,:LABEL\na,Ann,Human\nb,Bo,Human\nc,Acme,firm\n",
    "links.csv": ":START_ID,:END_ID,:TYPE\na,b,LIKES\na,c,worksAt\n",
}


@pytest.fixture
def neo4j(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in NEO4J.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("neo4j")
def test_headers_of_neo4j_state_types_keys_ends_and_arrays() -> None:
    data = {"Person": ["persons-header.csv", "persons.csv"]}
    assert "labels" not in omnigraph.infer_schema(data).text
    imported = omnigraph.import_data("g.omni", [["persons-header.csv", "persons.csv"], "movies.csv", "roles.csv"])
    text = imported.schema.text
    assert 'personId: String @key // column "personId:ID(Person)"; stated by the source' in text
    assert 'age: I64? // column "age:int"' in text
    assert "edge ACTED_IN: Person -> Movie {" in text
    assert "edge DIRECTED: Person -> Movie {" in text
    assert "note" not in text
    rows = imported.graph.sql("SELECT * FROM Person ORDER BY personId").to_pylist()
    assert [(row["age"], row["tags"], row["labels"]) for row in rows] == [
        (36, ["a", "b"], ["Person"]),
        (None, None, ["Person", "Admin"]),
    ]


@pytest.mark.usefixtures("neo4j")
def test_several_files_of_neo4j_with_one_label_or_type_are_one_type() -> None:
    Path("more-movies.csv").write_text("movieId:ID(Movie),title,year:int,:LABEL\nm2,Memento,2000,Movie\n")
    Path("more-roles.csv").write_text(":START_ID(Person),role,:END_ID(Movie),:TYPE\np1,Leonard,m2,ACTED_IN\n")
    files = [["persons-header.csv", "persons.csv"], "movies.csv", "more-movies.csv", "roles.csv", "more-roles.csv"]
    imported = omnigraph.import_data("g.omni", files)
    assert (imported.load.nodes["Movie"], imported.load.edges) == (2, {"ACTED_IN": 2, "DIRECTED": 1})
    assert imported.graph.nodes("Movie").where(title="Memento")["year"] == [2000]
    Path("more-roles.csv").write_text(":START_ID(Person),role,:END_ID(Movie),:TYPE\np1,Leonard,m9,ACTED_IN\n")
    with pytest.raises(ViolationError, match=r"more-roles.csv.*:2: dst 'm9' not found in Movie"):
        omnigraph.import_data("g2.omni", files)


@pytest.mark.usefixtures("neo4j")
def test_ids_of_one_group_find_their_types_by_their_values() -> None:
    imported = omnigraph.import_data("g.omni", ["things.csv", "links.csv"])
    assert imported.load.nodes == {"Human": 2, "Firm": 1}
    assert "edge LIKES: Human -> Human" in imported.schema.text
    assert "edge WorksAt: Human -> Firm" in imported.schema.text


def test_a_networkx_graph_has_the_types_of_its_attributes_and_loads_again(tmp_path: Path) -> None:
    network = networkx.MultiDiGraph()
    network.add_node("ada", type="person", age=36)
    network.add_node("acme", type="Company", id="c1")
    network.add_edge("ada", "acme", type="works at", since=1840)
    network.add_edge("ada", "ada", type="knows")
    network.add_edge("acme", "ada", type="knows", key="fax")
    graph = omnigraph.create(tmp_path / "g.omni", network, durability="os")
    assert graph.snapshot().counts() == {
        "edge:KnowsCompanyPerson": 1,
        "edge:KnowsPersonPerson": 1,
        "edge:WorksAt": 1,
        "node:Company": 1,
        "node:Person": 1,
    }
    assert graph.load(network).total == 5
    assert graph.sql('SELECT "attributeId" FROM Company').to_pylist() == [{"attributeId": "c1"}]
    assert sum(graph.snapshot().counts().values()) == 5


def test_graphml_and_labels_that_are_names(tmp_path: Path) -> None:
    network = networkx.karate_club_graph()
    for node in network:
        network.nodes[node]["label"] = f"member {node}"
    networkx.write_graphml(network, tmp_path / "karate.graphml")
    imported = omnigraph.import_data(tmp_path / "g.omni", tmp_path / "karate.graphml")
    assert (imported.load.nodes, imported.load.edges) == ({"Node": 34}, {"Edge": 78})
    assert "label: String" in imported.schema.text


def test_graphml_without_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(UsageError, match="needs NetworkX") as raised:
        omnigraph.infer_schema(tmp_path / "a.graphml")
    assert raised.value.hint == 'pip install "omnigraph[networkx]"'


def test_edge_lists_make_a_node_of_every_end(tmp_path: Path) -> None:
    (tmp_path / "cites.el").write_text("# SNAP\n% KONECT\n1 2\n2\t3\n3,1\n\n")
    (tmp_path / "rates.edgelist").write_text("1 4 0.5\n2 3 0.25\n")
    graph = omnigraph.create(tmp_path / "g.omni", [tmp_path / "cites.el", tmp_path / "rates.edgelist"], durability="os")
    assert graph.snapshot().counts() == {"edge:Cites": 3, "edge:Rates": 2, "node:Node": 4}
    assert graph.sql("SELECT weight FROM Rates ORDER BY weight").to_pylist() == [{"weight": 0.25}, {"weight": 0.5}]


def test_json_keeps_its_types_and_leaves_out_objects(tmp_path: Path) -> None:
    records = [
        {"id": 1, "n": "12", "tags": ["a"], "v": [1.5, 2], "address": {"city": "Oslo"}},
        {"id": 2, "n": "13", "tags": [], "v": [1]},
    ]
    (tmp_path / "things.json").write_text(json.dumps(records))
    imported = omnigraph.import_data(tmp_path / "g.omni", tmp_path / "things.json")
    assert imported.schema.ignore == ["address"]
    rows = imported.graph.sql("SELECT * FROM Thing ORDER BY thingId").to_pylist()
    assert [(row["n"], row["tags"], row["v"]) for row in rows] == [("12", ["a"], [1.5, 2.0]), ("13", [], [1.0])]
