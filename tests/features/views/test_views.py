"""Views of types: lazy, filtered and cut by storage, in the forms of other libraries."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.engine import snapshot as snapshot_module
from omnigraph.storage.tables.filters import filter_sql
from omnigraph.storage.tables.scan import scan

SCHEMA = """
interface Named {
    title: String?
}
node Person implements Named {
    name: String @key
    zip: String?
    age: I32?
    born: Date?
    score: F32?
    level: enum(low, high)?
    tags: [String]?
    photo: Blob?
}
node Empty {
    name: String @key
}
node Knows {
    name: String @key
}
edge Knows: Person -> Person {
    since: I32?
    kind: String?
}
"""
PEOPLE = [
    {"name": "ann", "zip": "1", "age": 30, "born": "1990-05-01", "score": 0.1, "level": "low", "tags": ["a", "b"]},
    {"name": "bob", "zip": "2", "age": 40, "born": "1980-05-01", "score": 2.5, "level": "high", "photo": "base64:AAEC"},
    {"name": "cid", "age": 20, "tags": ["b"]},
    {"name": "dan", "title": "Dr"},
]
EDGES = [("ann", "bob", 2020), ("bob", "cid", None), ("cid", "ann", 2010)]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path_factory.mktemp("views") / "graph", SCHEMA)
    graph.load([{"type": "Person", "data": row} for row in PEOPLE[:2]], "append")
    people = [{"type": "Person", "data": row} for row in PEOPLE[2:]]
    edges = [{"edge": "Knows", "from": a, "to": b, "data": {"id": a + b, "since": since}} for a, b, since in EDGES]
    graph.load(people + edges, "append")
    return graph


def test_columns_have_the_order_of_the_schema_everywhere(graph: omnigraph.Graph) -> None:
    people = ["id", "title", "name", "zip", "age", "born", "score", "level", "tags", "photo"]
    view = graph.nodes("Person")
    assert view.columns == people
    assert list(view.df().columns) == people
    assert list(graph.catalog().nodes["Person"].properties) == people[1:]
    assert graph.sql("select * from Person").columns == people
    lines = b"".join(graph.export(types=["Person"])).decode().splitlines()
    assert lines[0].index('"title"') < lines[0].index('"name"') < lines[0].index('"zip"') < lines[0].index('"age"')
    assert graph.edges("Knows").columns == ["id", "src", "dst", "since", "kind"]
    assert list(graph.schema.types["Person"]) == people[1:]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (("age > 25",), {"ann", "bob"}),
        (("$p.age >= 30 and age < 40",), {"ann"}),
        (('age > 25 or name = "cid"',), {"ann", "bob", "cid"}),
        (("age is null",), {"dan"}),
        (("age is not null and zip is null",), {"cid"}),
        (('name in ["ann", "zed"]',), {"ann"}),
        (('name starts_with "a"',), {"ann"}),
        (('name contains "n" and age = 30',), {"ann"}),
        (('tags contains "b"',), {"ann", "cid"}),
        (("age * 2 > 70",), {"bob"}),
        (("age > 25.5", "score < 1"), {"ann"}),
        (('born < date("1985-01-01")',), {"bob"}),
        (('level = "high"',), {"bob"}),
        (('id != "ann" and age > 0',), {"bob", "cid"}),
        (("age > 9999999999",), set()),
        (({"name": "bob"},), {"bob"}),
        (({"age": [20, 30]},), {"ann", "cid"}),
        (({"age": None},), {"dan"}),
        (({"tags": "b"},), {"ann", "cid"}),
        (({"born": date(1990, 5, 1)},), {"ann"}),
        (("age > 20", {"zip": "2"}), {"bob"}),
    ],
)
def test_a_filter_keeps_what_the_same_filter_of_a_query_keeps(
    graph: omnigraph.Graph, filters: tuple[Any, ...], expected: set[str]
) -> None:
    view = graph.nodes("Person")
    for given in filters:
        view = view.where(**given) if isinstance(given, dict) else view.where(given)
    assert set(view["name"]) == expected
    assert len(view) == len(expected)
    assert bool(view) is bool(expected)


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda view: view.where("agee > 3"), omnigraph.OmnigraphError, "did you mean `age`"),
        (lambda view: view.where("age >"), omnigraph.OmnigraphError, "expected an expression"),
        (lambda view: view.where('age > "x"'), omnigraph.OmnigraphError, "cannot compare I32"),
        (lambda view: view.where("age + 1"), omnigraph.OmnigraphError, "expected Bool"),
        (lambda view: view.where(agee=3), omnigraph.OmnigraphError, "did you mean `age`"),
        (lambda view: view.where(age="x"), omnigraph.OmnigraphError, "expected integer, got 'x'"),
        (lambda view: view.where(tags=["b"]), omnigraph.OmnigraphError, "cannot be compared"),
        (lambda view: view.where(3), omnigraph.OmnigraphError, "text must be a text or None, got the int 3"),
        (lambda view: view.limit("x"), omnigraph.OmnigraphError, "rows must be a whole number, got the str 'x'"),
        (lambda view: view.head("x"), omnigraph.OmnigraphError, "rows must be a whole number"),
        (lambda view: view.select(3), omnigraph.OmnigraphError, "names must be a text, got the int 3"),
        (lambda view: view["name":], omnigraph.OmnigraphError, "is no range of rows"),
        (lambda view: view.limit(1).where("age > 1"), omnigraph.OmnigraphError, "filter first"),
        (lambda view: view.select("nme"), omnigraph.OmnigraphError, "did you mean `name`"),
        (lambda view: view.select(), omnigraph.OmnigraphError, "no column is selected"),
        (lambda view: view.limit(-1), omnigraph.OmnigraphError, "not a number of rows"),
        (lambda view: view["nme"], omnigraph.OmnigraphError, "did you mean `name`"),
        (lambda view: view[::2], omnigraph.OmnigraphError, "in their order"),
        (lambda view: view[2.5], omnigraph.OmnigraphError, "neither a row nor a column"),
        (lambda view: view[4], IndexError, "there is no row 4"),
        (lambda view: view.scalar(), omnigraph.OmnigraphError, "one row with one column"),
    ],
)
def test_a_mistake_is_named_with_what_to_write(
    graph: omnigraph.Graph, read: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(graph.nodes("Person"))


def test_rows_columns_and_slices(graph: omnigraph.Graph) -> None:
    view = graph.nodes("Person").select("name", "age", "score")
    assert view[0] == {"name": "ann", "age": 30, "score": 0.1}
    assert view[-1] == {"name": "dan", "age": None, "score": None}
    assert view["age"] == [30, 40, 20, None]
    assert view[1:3]["name"] == ["bob", "cid"]
    assert view[1:3][1:]["name"] == ["cid"]
    assert view[["age"]].columns == ["age"]
    assert [row["name"] for row in view.limit(3)] == ["ann", "bob", "cid"]
    assert view.head(1).to_dicts() == [view.first()]
    assert view.limit(0).to_dicts() == []
    assert view.where(name="ann").select("age").scalar() == 30
    assert [len(batch) for batch in view.limit(3).batches(2)] == [2, 1]


def test_frames_and_files_hold_the_same_rows(graph: omnigraph.Graph, tmp_path: Path) -> None:
    view = graph.nodes("Person").select("name", "age", "born", "tags").where("age is not null")
    assert isinstance(view.df(), pd.DataFrame)
    assert isinstance(view.pl(), pl.DataFrame)
    assert isinstance(view.arrow(), pa.Table)
    assert view.df()["age"].tolist() == view.pl()["age"].to_list() == [30, 40, 20]
    assert pl.DataFrame(view).height == 3
    view.to_parquet(tmp_path / "people.parquet")
    assert pq.read_table(tmp_path / "people.parquet").equals(view.arrow())
    view.to_csv(tmp_path / "people.csv")
    assert (tmp_path / "people.csv").read_text() == view.to_csv()
    read = pd.read_csv(io.StringIO(view.to_csv() or ""))
    assert read["tags"].tolist()[0] == '["a", "b"]'
    assert read["born"].tolist()[:2] == ["1990-05-01", "1980-05-01"]
    with pytest.raises(omnigraph.OmnigraphError, match="missing"):
        view.to_csv(tmp_path / "missing" / "people.csv")


def test_blobs_are_bytes_and_types_without_entities_have_their_columns(graph: omnigraph.Graph) -> None:
    assert graph.nodes("Person").where(name="bob").select("photo").scalar() == b"\x00\x01\x02"
    assert graph.nodes("Empty").df().columns.tolist() == ["id", "name"]
    assert len(graph.nodes("Empty").where(name="x")) == 0


def test_edges_are_filtered_by_their_ends(graph: omnigraph.Graph) -> None:
    assert graph.edges("knows").where(src="ann")["dst"] == ["bob"]
    assert set(graph.edges("Knows").where('dst in ["ann", "bob"] and since > 2000')["id"]) == {"annbob", "cidann"}


def test_a_view_reads_the_commit_it_was_made_at(graph: omnigraph.Graph) -> None:
    second = list(graph.commits())[1].id
    assert len(graph.nodes("Person", at=second)) == 2
    assert len(graph.snapshot(at=second).nodes("Person")) == 2
    graph.create_branch("views")
    held = graph.nodes("Person", branch="views")
    graph.mutate('query q() { delete Person where name = "dan" }', branch="views")
    assert len(held) == 4
    assert len(graph.nodes("Person", branch="views")) == 3


def test_filters_and_columns_are_pushed_to_storage(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], Any]] = []

    def recorded(store: Any, pin: Any, columns: list[str], where: Any = None, **options: Any) -> Any:
        asked.append((columns, where))
        return scan(store, pin, columns, where, **options)

    monkeypatch.setattr(snapshot_module, "scan", recorded)
    found = graph.nodes("Person").select("name").where('age > 25 and tags contains "b"')
    assert not asked, "a view reads nothing before rows are wanted"
    assert found["name"] == ["ann"]
    columns, where = asked[0]
    assert set(columns) == {"name", "tags"}
    assert filter_sql(where) == "`age` > 25"
    graph.edges("Knows").where("since > 2000 or since is null").where(src=["ann", "bob"])["dst"]
    assert filter_sql(asked[-1][1]) == "((`since` > 2000) OR (`since` IS NULL)) AND (`src` IN ('ann', 'bob'))"


def test_a_type_of_the_other_kind_is_pointed_at(graph: omnigraph.Graph) -> None:
    with pytest.raises(omnigraph.OmnigraphError, match="'Person' is a node type"):
        graph.edges("Person")


def test_types_without_a_name_are_a_mapping_of_views(graph: omnigraph.Graph) -> None:
    assert list(graph.nodes()) == ["Empty", "Knows", "Person"]
    assert {name: len(view) for name, view in graph.edges().items()} == {"Knows": 3}
    assert "Person" in graph.nodes()
    assert "columns" in repr(graph.nodes())


def test_a_graph_counts_its_entities_and_shows_its_schema(graph: omnigraph.Graph) -> None:
    assert len(graph) == 7
    assert graph.counts() == {"Empty": 0, "node:Knows": 0, "Person": 4, "edge:Knows": 3}
    assert isinstance(graph.schema, str)
    assert graph.schema == graph.schema_text() == SCHEMA
    assert repr(graph.schema) == SCHEMA.rstrip()
    assert graph.schema._repr_html_().startswith("<pre")
    assert graph.schema.types["edge:Knows"] == {"since": "I32?", "kind": "String?"}


@pytest.mark.parametrize(
    "read",
    [
        lambda graph, name: graph.snapshot().to_arrow(name).num_rows == 4,
        lambda graph, name: sum(batch.num_rows for batch in graph.snapshot().batches(name)) == 4,
        lambda graph, name: len(list(graph.export(types=[name]))) == 1,
        lambda graph, name: len(graph.diff(list(graph.commits())[-1].id, "main", type=name)) == 4,
        lambda graph, name: {item.key for item in graph.optimize(types=[name]).tables} == {"node:Person"},
        lambda graph, name: len(list(graph.changes("beginning", type=name).changes())) == 4,
        lambda graph, name: graph.read_blob(name, "bob", "photo").size == 3,
        lambda graph, name: graph.read_blob("node", name, "bob", "photo").size == 3,
        lambda graph, name: len(graph.nodes(name)) == 4,
        lambda graph, name: len(graph.to_networkx(name)) == 4,
    ],
)
def test_a_type_is_named_by_its_name_or_its_table_key(graph: omnigraph.Graph, read: Any) -> None:
    assert read(graph, "Person")
    assert read(graph, "node:Person")
    with pytest.raises(omnigraph.OmnigraphError, match=r"there is no (node )?type 'Persn'"):
        read(graph, "Persn")


def test_a_name_that_two_types_share_is_refused_where_one_is_needed(graph: omnigraph.Graph) -> None:
    with pytest.raises(omnigraph.OmnigraphError, match="write 'edge:Knows' or 'node:Knows'"):
        graph.snapshot().to_arrow("Knows")
    assert graph.snapshot().to_arrow("edge:Knows").num_rows == 3
    assert graph.diff(list(graph.commits())[-1].id, type="edge:Knows")["edge:Knows"].counts.inserted == 3


def test_results_have_the_same_access_as_views(graph: omnigraph.Graph) -> None:
    text = "query q() { match { $p: Person } return { $p.name as name, $p.score as score } order { name } }"
    found = graph.query(text)
    assert found[0] == {"name": "ann", "score": 0.1}
    assert found["score"] == [0.1, 2.5, None, None]
    assert found[1:3]["name"] == ["bob", "cid"]
    assert found[["name"]].to_dicts()[0] == {"name": "ann"}
    assert found.df()["name"].tolist() == found.pl()["name"].to_list() == found.arrow()["name"].to_pylist()
    assert found.first() == next(iter(found))
    assert (found.to_csv() or "").splitlines()[1] == '"ann",0.1'
    counted = graph.query("query q() { match { $p: Person } return { count($p) as n } }")
    assert counted.scalar() == 4
    assert "0.1" in repr(found)
    assert "0.10000000149" not in repr(found) + found._repr_html_()
