"""What shows a whole branch shows an actor with a scope its part: snapshots, exports, SQL, pictures, commits."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.engine.explore.entity import read_entity
from omnigraph.engine.explore.neighbours import neighbours
from omnigraph.engine.explore.property_history import property_history
from omnigraph.errors import InputError, NotFoundError, PolicyDenied
from tests.features.policy.teams import LINES

SEEN = ["ann", "bob", "dan"]
HIDDEN_WORDS = ("cleo", "likes eve", "City", "Rome", "LivesIn", "salary", "30390")


def assert_nothing_hidden(text: str) -> None:
    assert not [word for word in HIDDEN_WORDS if word in text]


def test_a_snapshot_is_the_part_of_the_actor(ann: Graph) -> None:
    for snapshot in (ann.snapshot(), ann.moment("main"), pickle.loads(pickle.dumps(ann.snapshot()))):
        assert snapshot.counts() == {"edge:Knows": 2, "node:Person": 3}
        assert len(snapshot) == 5
        assert {*snapshot.catalog.nodes} == {"Person"}
        assert sorted(row["id"] for row in snapshot.nodes("Person")) == SEEN
        assert snapshot.to_arrow("Person").column("id").to_pylist() == SEEN
        assert_nothing_hidden(f"{snapshot!r} {snapshot._repr_html_()} {snapshot.schema_text()}")
        with pytest.raises(NotFoundError, match="'City'"):
            snapshot.nodes("City")
        with pytest.raises(PolicyDenied, match="cannot apply the data rules of the actor"):
            _ = snapshot.state
    assert ann.counts() == {"Person": 3, "Knows": 2}
    assert len(ann) == 5


def test_the_schema_is_that_of_the_part_and_loads_its_export(ann: Graph, tmp_path: Path) -> None:
    text = ann.schema_text()
    assert_nothing_hidden(text)
    assert {*ann.schema.types} == {"Person", "Knows"}
    lines = b"".join(ann.export())
    assert_nothing_hidden(lines.decode())
    copy = omnigraph.create(tmp_path / "copy.omni", text)
    (tmp_path / "part.jsonl").write_bytes(lines)
    copy.load(tmp_path / "part.jsonl")
    assert copy.counts() == {"Person": 3, "Knows": 2}
    assert b"".join(copy.export()) == lines


def test_files_and_baselines_hold_the_part(ann: Graph, tmp_path: Path) -> None:
    ann.export_files(tmp_path / "out")
    people = pq.read_table(tmp_path / "out" / "Person.parquet")
    assert sorted(people.column("id").to_pylist()) == SEEN
    assert "salary" not in people.column_names
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"Person.parquet", "Knows.parquet", "schema.pg"}
    assert_nothing_hidden((tmp_path / "out" / "schema.pg").read_text())
    baseline = ann.change_baseline()
    ids = [json.loads(line)["data"].get("name") for line in b"".join(baseline.lines()).splitlines()]
    assert sorted(filter(None, ids)) == SEEN
    with pytest.raises(NotFoundError):
        ann.change_baseline(type="City")


def sql(graph: Graph, text: str, *params: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.sql(text, list(params)).to_dicts()]


def test_sql_reads_tables_of_the_part(ann: Graph) -> None:
    assert sql(ann, "select count(*) from Person") == [(3,)]
    assert sql(ann, "select name from Person where age > ? order by name", 35) == [("bob",), ("dan",)]
    assert sql(ann, "select src, dst from Knows order by src") == [("ann", "bob"), ("dan", "bob")]
    assert sql(ann, "select count(*) from Person where name = 'cleo' or team is null") == [(0,)]
    joined = "select a.name, b.name from Person a left join Knows k on a.id = k.src left join Person b on b.id = k.dst"
    assert sql(ann, f"{joined} order by 1") == [("ann", "bob"), ("bob", None), ("dan", "bob")]
    for text in ("select * from City", "select * from LivesIn", "select salary from Person"):
        with pytest.raises(InputError) as refused:
            ann.sql(text)
        assert "Rome" not in str(refused.value)
    assert "salary" not in ann.sql("select * from Person").columns


def test_conversions_and_pictures_show_the_part(ann: Graph) -> None:
    networkx = ann.to_networkx()
    assert sorted(networkx.nodes) == SEEN
    assert {(src, dst) for src, dst in networkx.edges()} == {("ann", "bob"), ("dan", "bob")}
    assert all("salary" not in facts for _, facts in networkx.nodes(data=True))
    assert_nothing_hidden(str(ann.draw()._repr_html_()))


def test_commits_are_shown_without_their_texts_and_tables(ann: Graph, plain: Graph) -> None:
    made = plain.mutate(
        'query q() { insert City {name: "Oslo"} }', message="secret plan", provenance={"run": "secret run"}
    ).commit
    assert made is not None
    for commit in (ann.commit(made.id), next(ann.commits()), next(iter(ann.commits(kind="mutation")))):
        assert commit.id == made.id
        assert not commit.tables
        assert "secret" not in repr(commit)
    assert not list(ann.commits(run="secret run"))
    assert not list(ann.commits(message="secret plan"))
    assert next(plain.commits(run="secret run")).message == "secret plan"


def test_an_entity_and_its_neighbours_are_those_of_the_part(ann: Graph, plain: Graph) -> None:
    part = ann.snapshot()
    found = read_entity(part, "node", "Person", "bob")
    assert found.properties["age"] == 40
    assert "salary" not in found.properties
    for kind, type_name, id_ in (("node", "Person", "cleo"), ("node", "City", "Rome"), ("edge", "LivesIn", "x")):
        with pytest.raises(NotFoundError):
            read_entity(part, kind, type_name, id_)
    around = neighbours(part, {"Person": ["bob", "cleo", "dan"]})
    assert {node.id for node in around.nodes} == {"ann", "bob", "dan"}
    assert {(edge.source[1], edge.target[1]) for edge in around.edges} == {("ann", "bob"), ("dan", "bob")}
    assert {(total.type, total.total) for total in around.totals} == {("Knows", 2), ("Knows", 1)}
    assert_nothing_hidden(repr(around))
    assert {node.id for node in neighbours(plain.snapshot(), {"Person": ["bob"]}).nodes} == {
        "ann",
        "bob",
        "cleo",
        "dan",
    }


def test_the_history_of_an_entity_begins_where_it_became_visible(ann: Graph, plain: Graph) -> None:
    plain.mutate('query q() { update Person set {age: 51} where name = "cleo" }')
    shown = plain.mutate('query q() { update Person set {team: "red"} where name = "cleo" }').commit
    plain.mutate('query q() { insert City {name: "Oslo"} }')
    aged = plain.mutate('query q() { update Person set {age: 52, salary: 1} where name = "cleo" }').commit
    assert shown is not None
    assert aged is not None
    history = property_history(ann.snapshot(), "node", "Person", "cleo", lambda commit_id: ann.snapshot(at=commit_id))
    assert history.is_complete
    assert history.created is not None
    assert history.created.id == shown.id
    assert {name: commit.id for name, commit in history.commits.items()} == {
        "age": aged.id,
        **dict.fromkeys(("name", "team", "bio"), shown.id),
    }


def test_rows_with_their_entities_are_those_of_the_part(ann: Graph) -> None:
    from omnigraph.engine.query.choice import QueryLimits
    from omnigraph.engine.query.row_entities import TracedRun

    result, entities = ann.query_with(TracedRun(QueryLimits(), "main"), f"query q() {{ {LINES} }}")
    assert [row["p.name"] for row in result.to_dicts()] == SEEN
    assert entities.ids.to_pylist() == [{"p": name} for name in SEEN]


def test_older_moments_have_the_rules_of_their_branch(ann: Graph, plain: Graph) -> None:
    before = plain.snapshot().commit_id
    plain.mutate('query q() { update Person set {team: "red"} where name = "cleo" }')
    assert ann.counts()["Person"] == 4
    assert ann.counts(at=before)["Person"] == 3
    assert ann.moment(ann.snapshot(at=before)).counts()["node:Person"] == 3
    plain.create_branch("free")
    assert ann.counts("free")["Person"] == 5
    # A snapshot that another actor has taken is cut down to the part of the one who passes it on.
    assert ann.moment(plain.snapshot()).counts()["node:Person"] == 4
    found = {change.id for change in ann.diff(plain.snapshot(at=before), plain.snapshot()).changes()}
    assert found == {"cleo"}


def test_the_columns_that_the_rules_read_are_not_shown(ann: Graph) -> None:
    snapshot = ann.snapshot()
    shown = {"id", *snapshot.catalog.nodes["Person"].properties}
    assert set(snapshot.to_arrow("Person").column_names) == shown
    assert all(set(batch.schema.names) == shown for batch in snapshot.batches("Person"))
