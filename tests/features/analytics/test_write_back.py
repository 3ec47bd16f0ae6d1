"""Results as a property: one commit, nothing else changes, and no concurrent write is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.analysis import write_back
from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ContentionError, NotFoundError, UsageError, ViolationError
from tests.features.analytics.shapes import SHAPES, random_shape
from tests.support.tuning import tuned

SET_NOTE = "query note($n: String, $t: String) { update Person set { note: $t } where name = $n }"


def column(graph: Graph, name: str, **moment: Any) -> dict[str, Any]:
    rows = graph.snapshot(**moment).to_arrow("node:Person").to_pylist()
    return {row["id"]: row[name] for row in rows}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return SHAPES["sparse"].graph(tmp_path / "g")


def test_ranks_become_a_property_in_one_commit_and_the_rest_stays(graph: Graph) -> None:
    graph.mutate(SET_NOTE, {"n": "p0-0", "t": "kept"})
    before = graph.snapshot()
    ranks = graph.analyze.pagerank("Knows")
    written = ranks.write("rank", actor="ann", message="why not")
    assert column(graph, "rank") == {row["id"]: row["rank"] for row in ranks}
    assert column(graph, "note")["p0-0"] == "kept"
    after = graph.snapshot()
    assert after.counts() == before.counts()
    without = [name for name in before.to_arrow("node:Person").column_names if name != "rank"]
    assert after.to_arrow("node:Person").select(without) == before.to_arrow("node:Person").select(without)
    assert graph.commit(after.commit_id).parents == (before.commit_id,)
    assert (written.commit.id, written.commit.actor, written.commit.message) == (after.commit_id, "ann", "why not")
    assert dict(written.commit.provenance) == {"analysis": "pagerank", "commit": before.commit_id}
    assert written.nodes == {"Person": 60}


def test_only_nodes_whose_value_changed_are_written(graph: Graph) -> None:
    graph.analyze.components("Knows").write("group")
    graph.mutate('query more() { insert Person { name: "zz" } }')
    again = graph.analyze.components("Knows").write("group")
    assert again.nodes == {"Person": 1}


@pytest.mark.parametrize("column_name", ["degree", "in_degree", "out_degree"])
@pytest.mark.parametrize("property", ["group", "tiny", "count", "rank"])
def test_whole_numbers_fit_every_kind_of_number(graph: Graph, column_name: str, property: str) -> None:
    degrees = graph.analyze.degrees("Knows")
    degrees.write(property, column=column_name)
    assert column(graph, property) == {row["id"]: row[column_name] for row in degrees}


def test_nodes_without_a_way_get_null(graph: Graph) -> None:
    graph.analyze.degrees("Knows").write("group")
    found = graph.analyze.shortest_paths("p0-0", "Knows")
    found.write("group")
    assert column(graph, "group") == {row["id"]: row["distance"] for row in found}
    assert None in column(graph, "group").values()


def test_several_types_get_the_property_or_those_that_are_named(tmp_path: Path) -> None:
    graph = random_shape(9, 30, 40, kinds=("Lives", "Hosts")).graph(tmp_path / "g")
    found = graph.analyze.components(["Lives", "Hosts"])
    found.write("group", types=["Place"])
    assert set(column(graph, "group").values()) == {None}
    found.write("group")
    places = graph.snapshot().to_arrow("node:Place").to_pylist()
    for type_, rows in (("Person", column(graph, "group")), ("Place", {row["id"]: row["group"] for row in places})):
        assert rows == {row["id"]: row["component"] for row in found if row["type"] == type_}


def test_a_branch_of_its_own_is_made_and_nothing_else_moves(graph: Graph) -> None:
    ranks = graph.analyze.pagerank("Knows")
    ranks.write("rank", branch="ranked", base="main")
    assert set(column(graph, "rank").values()) == {None}
    assert column(graph, "rank", branch="ranked") == {row["id"]: row["rank"] for row in ranks}


def test_nodes_that_came_or_went_since_are_left_alone(graph: Graph) -> None:
    ranks = graph.analyze.pagerank("Knows")
    graph.mutate('query drop() { delete Person where name = "p0-0" }')
    graph.mutate('query more() { insert Person { name: "zz" rank: 7.0 } }')
    graph.mutate(SET_NOTE, {"n": "p856-1", "t": "later"})
    ranks.write("rank")
    expected = {row["id"]: row["rank"] for row in ranks if row["id"] != "p0-0"} | {"zz": 7.0}
    assert column(graph, "rank") == expected
    assert column(graph, "note")["p856-1"] == "later"


def interfering(graph: Graph, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else writes just before a write would be published."""
    left = [times]

    def load_rows(context: Any, incarnation: str, rows: Any, *others: Any, **named: Any) -> Any:
        read = list(rows)
        if left[0]:
            left[0] -= 1
            graph.mutate(SET_NOTE, {"n": "p0-0", "t": f"written {left[0]}"})
        return original(context, incarnation, iter(read), *others, **named)

    original = write_back.load_rows
    monkeypatch.setattr(write_back, "load_rows", load_rows)


def test_what_others_write_meanwhile_is_not_lost(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = graph.analyze.pagerank("Knows")
    interfering(graph, 3, monkeypatch)
    ranks.write("rank")
    assert column(graph, "note")["p0-0"] == "written 0"
    assert column(graph, "rank") == {row["id"]: row["rank"] for row in ranks}


def test_too_many_others_end_it_without_a_change(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = graph.analyze.pagerank("Knows")
    interfering(graph, 100, monkeypatch)
    with pytest.raises(ContentionError, match="in each of 8 attempts"):
        ranks.write("rank")
    assert set(column(graph, "rank").values()) == {None}


def test_a_large_result_goes_through_disk(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tuned(graph, buffered_rows_max=10, analysed_batch_rows=7)
    ranks = graph.analyze.pagerank("Knows")
    interfering(graph, 1, monkeypatch)
    ranks.write("rank")
    assert column(graph, "rank") == {row["id"]: row["rank"] for row in ranks}
    assert column(graph, "note")["p0-0"] == "written 0"
    assert graph.verify().is_clean


def test_a_repeated_key_writes_once(graph: Graph) -> None:
    ranks = graph.analyze.pagerank("Knows")
    first = ranks.write("rank", idempotency_key="k")
    again = ranks.write("rank", idempotency_key="k")
    assert again.repeated
    assert again.commit.id == first.commit.id == graph.snapshot().commit_id


def test_blobs_vectors_and_lists_survive(tmp_path: Path) -> None:
    schema = """
    node Person { name: String @key photo: Blob? spot: Vector(2)? tags: [String]? rank: F32? }
    edge Knows: Person -> Person
    """
    graph = create(tmp_path / "g", schema, durability="os")
    data = {"name": "a", "photo": "base64:AAEC", "spot": [1.5, 2.5], "tags": ["x", "y"]}
    graph.load([{"type": "Person", "data": data}, {"type": "Person", "data": {"name": "b"}}])
    graph.load([{"edge": "Knows", "from": "a", "to": "b"}])
    graph.analyze.pagerank("Knows", tolerance=1e-9).write("rank")
    assert graph.read_blob("node", "Person", "a", "photo").read() == b"\x00\x01\x02"
    row = graph.snapshot().to_arrow("node:Person").to_pylist()[0]
    assert (row["spot"], row["tags"]) == ([1.5, 2.5], ["x", "y"])
    assert row["rank"] == pytest.approx(0.3508772, abs=1e-6)


@pytest.mark.parametrize(
    ("how", "said", "hint"),
    [
        ({"property": "rnk"}, "Person has no property 'rnk'", "add the line `rnk: F64?` to node Person in the schema"),
        ({"property": "group"}, "Person.group is I64[?], which cannot hold the values", "declare it as `group: F64?`"),
        ({"property": "note"}, "Person.note is String[?]", "declare it as `note: F64?`"),
        ({"property": "name"}, "Person.name is the key", None),
        ({"property": "rank", "types": ["Place"]}, "no 'Place' took part", "node types are Person"),
        ({"property": "rank", "column": "score"}, "pagerank gives no 'score'", "its columns are rank"),
    ],
)
def test_what_does_not_fit_changes_nothing(graph: Graph, how: Any, said: str, hint: str | None) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(UsageError, match=said) as raised:
        graph.analyze.pagerank("Knows").write(**how)
    assert hint is None or hint in str(raised.value.hint)
    assert graph.snapshot().commit_id == before


def test_a_number_that_breaks_a_constraint_changes_nothing(tmp_path: Path) -> None:
    schema = "node Person { name: String @key low: I32? @range(low, 0..1) }\nedge Knows: Person -> Person"
    graph = create(tmp_path / "g", schema, durability="os")
    graph.load([{"type": "Person", "data": {"name": name}} for name in "abc"])
    before = graph.snapshot().commit_id
    with pytest.raises(ViolationError, match="low"):
        graph.analyze.components("Knows").write("low")
    assert graph.snapshot().commit_id == before


def test_a_commit_cannot_be_written_to_and_a_missing_branch_is_not_found(graph: Graph) -> None:
    ranks = graph.analyze.pagerank("Knows", at=graph.snapshot().commit_id)
    with pytest.raises(UsageError, match="commits do not change"):
        ranks.write("rank")
    with pytest.raises(NotFoundError):
        ranks.write("rank", branch="nowhere")
    assert ranks.write("rank", branch="main").commit.branch == "main"
