"""Merging branches: policies, resolutions, constraints, previews, and the history that comes of it."""

import base64
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import MergeConflicts, NotFoundError, PreconditionFailed, SchemaConflict, UsageError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.compile import accept
from omnigraph.schema.merge import merge_schemas
from omnigraph.wire.merges import load_merge_preview, save_merge_preview
from tests.features.cli.graphs import everything
from tests.features.merge.graphs import edges, fresh, kinds, people, put, refused
from tests.promises.protocol.graphs import create, edge, insert, names, reopen, run


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return fresh(tmp_path)


def both(graph: omnigraph.Graph, source: dict[str, Any], target: dict[str, Any], base: dict[str, Any]) -> None:
    """Ann, with other values on both sides."""
    if base:
        put(graph, "ann", **base)
        graph.merge("main", "b")
    put(graph, "ann", "b", **source)
    put(graph, "ann", **target)


def test_two_agents_that_edit_different_properties_of_one_entity_never_conflict(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=30, city="Rome")
    put(graph, "ann", email="ann@", title="dr")
    graph.merge("b", actor="merger", message="both")
    assert people(graph)["ann"] == {"age": 30, "city": "Rome", "email": "ann@", "title": "dr"}
    made = graph.commits(limit=1).__next__()
    assert (made.kind.value, made.actor, made.message) == ("merge", "merger", "both")
    assert [(change.inserted, change.updated, change.deleted) for change in made.tables] == [(0, 1, 0)]


@pytest.mark.parametrize(
    ("name", "base", "source", "target", "merged"),
    [
        ("visits", 10, 13, 14, 17),
        ("visits", None, 3, 4, 7),
        ("visits", 10, 5, 12, 7),
        ("visits", 10, None, 12, 2),
        ("best", 1, 5, 9, 9),
        ("best", 1, 9, 5, 9),
        ("best", 1, None, 0, 0),
        ("worst", 1, 5, 9, 5),
        ("worst", 10, 9, 3, 3),
        ("tags", ["a", "b"], ["a", "b", "c"], ["b", "d"], ["b", "d", "c"]),
        ("tags", ["a"], None, ["a", "x"], ["x"]),
        ("tags", None, ["x"], ["x", "y"], ["x", "y"]),
        ("mine", "a", "s", "t", "s"),
        ("mine", "a", None, "t", None),
        ("yours", "a", "s", "t", "t"),
    ],
)
def test_a_policy_of_the_schema_settles_two_changes(
    graph: omnigraph.Graph, name: str, base: Any, source: Any, target: Any, merged: Any
) -> None:
    both(graph, {name: source}, {name: target}, {name: base})
    assert graph.merge("b").outcome.value == "merged"
    assert people(graph)["ann"].get(name) == merged


@pytest.mark.parametrize("later", ["b", "main"])
def test_the_newest_change_is_that_of_the_property_and_not_of_the_branch(graph: omnigraph.Graph, later: str) -> None:
    earlier = "main" if later == "b" else "b"
    put(graph, "ann", earlier, title="early")
    put(graph, "ann", later, title="late")
    # Changes of other properties and other entities do not make a branch newer.
    put(graph, "ann", earlier, city="Rome")
    put(graph, "bo", earlier, title="other")
    graph.merge("b")
    assert people(graph)["ann"] == {"age": 1, "title": "late", "city": "Rome"}


def test_review_is_a_conflict_whatever_the_call_prefers(graph: omnigraph.Graph) -> None:
    both(graph, {"legal": "s", "age": 5}, {"legal": "t", "age": 6}, {})
    for policy in ("source", {"*": "target"}, {"Person": "source"}):
        assert kinds(refused(graph, policy=policy)) == [("divergent_update", "ann", "legal")]
    graph.merge("b", policy={"Person.legal": "source", "*": "target"})
    assert people(graph)["ann"] == {"legal": "s", "age": 6}


def test_a_general_policy_counts_where_it_can_be_applied(graph: omnigraph.Graph) -> None:
    both(graph, {"age": 5, "city": "S"}, {"age": 6, "city": "T"}, {})
    assert kinds(refused(graph, policy="sum")) == [("divergent_update", "ann", "city")]
    graph.merge("b", policy={"*": "sum", "Person.city": "max"})
    assert people(graph)["ann"] == {"age": 10, "city": "T"}


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        ("sauce", "no merge policy"),
        ({"Parson": "source"}, "no type 'Parson'"),
        ({"Person.ag": "source"}, "no property 'ag'"),
        ({"Person.city": "sum"}, "requires a number or a Duration"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(graph: omnigraph.Graph, policy: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        graph.merge("b", policy=policy)


def test_an_inserted_entity_needs_a_policy_for_every_property_that_differs(graph: omnigraph.Graph) -> None:
    row = {"type": "Person", "data": {"name": "eve", "visits": 2, "tags": ["s"]}}
    graph.load([row], branch="b")
    graph.load([{"type": "Person", "data": {"name": "eve", "visits": 3, "tags": ["t"], "city": "Rome"}}])
    assert kinds(refused(graph)) == [("divergent_insert", "eve", "city")]
    graph.merge("b", policy={"Person.city": "target"})
    assert people(graph)["eve"] == {"visits": 5, "tags": ["t", "s"], "city": "Rome"}


def test_conflicts_carry_the_values_of_base_source_and_target(graph: omnigraph.Graph) -> None:
    both(graph, {"age": 5, "city": "S"}, {"age": None, "city": "T"}, {"age": 4})
    run(graph, 'delete Person where name = "dan"', branch="b")
    put(graph, "dan", city="Ulm")
    shown = [(item.property, item.base, item.source, item.target) for item in refused(graph)]
    assert shown == [
        ("age", 4, 5, None),
        ("city", None, "S", "T"),
        (None, {"city": None}, None, {"city": "Ulm"}),
    ]
    table = graph.merge_preview("b").conflicts_table()
    assert table.column_names == ["table", "id", "kind", "property", "base", "source", "target", "message"]
    assert table.column("source").to_pylist() == ["5", '"S"', None]


# --- resolutions -----------------------------------------------------------------------------------------


def test_resolutions_settle_single_conflicts_and_kinds_of_them(graph: omnigraph.Graph) -> None:
    for name in ("ann", "bo", "cy"):
        put(graph, name, "b", age=10, city="S")
        put(graph, name, age=20, city="T")
    rules = [{"property": "age", "take": "source"}, {"type": "Person", "id": "bo", "property": "age", "value": 99}]
    assert kinds(refused(graph, resolutions=rules)) == [
        ("divergent_update", name, "city") for name in ("ann", "bo", "cy")
    ]
    rules += [{"id": "cy", "take": "base"}, {"kind": "divergent_update", "take": "target"}]
    graph.merge("b", resolutions=rules)
    assert {name: people(graph)[name] for name in ("ann", "bo", "cy")} == {
        "ann": {"age": 10, "city": "T"},
        "bo": {"age": 99, "city": "T"},
        "cy": {"age": 1},
    }


@pytest.mark.parametrize("deleted_on", ["b", "main"])
@pytest.mark.parametrize("take", ["source", "target"])
def test_a_deletion_against_a_change_is_settled_by_taking_a_side(
    graph: omnigraph.Graph, deleted_on: str, take: str
) -> None:
    other = "main" if deleted_on == "b" else "b"
    run(graph, 'delete Person where name = "dan"', branch=deleted_on)
    put(graph, "dan", other, age=9)
    kind = "delete_vs_update" if deleted_on == "b" else "update_vs_delete"
    assert kinds(refused(graph)) == [(kind, "dan", None)]
    graph.merge("b", resolutions=[{"kind": kind, "take": take}])
    is_kept = (take == "source") == (other == "b")
    assert people(graph).get("dan") == ({"age": 9} if is_kept else None)


@pytest.mark.parametrize(
    ("resolution", "match"),
    [
        ({"type": "Parson", "take": "source"}, "no type 'Parson'"),
        ({"type": "Person", "property": "ag", "take": "source"}, "no property 'ag'"),
        ({"property": "age", "value": "old"}, "does not fit Person.age"),
    ],
)
def test_a_resolution_that_does_not_fit_is_refused(graph: omnigraph.Graph, resolution: Any, match: str) -> None:
    both(graph, {"age": 5}, {"age": 6}, {})
    with pytest.raises(UsageError, match=match):
        graph.merge("b", resolutions=[resolution])


# --- constraints of the merged graph ---------------------------------------------------------------------


def test_all_conflicts_are_reported_at_once(graph: omnigraph.Graph) -> None:
    both(graph, {"visits": 60, "age": 5}, {"visits": 70, "age": 6}, {"visits": 0})
    put(graph, "bo", "b", email="same@")
    put(graph, "cy", email="same@")
    graph.load([edge("WorksAt", "bo", "acme", "w1")], branch="b")
    graph.load([edge("WorksAt", "bo", "acme", "w2")])
    run(graph, 'delete Person where name = "dan"', branch="b")
    graph.load([edge("Knows", "ann", "dan", "orphan")])
    assert kinds(refused(graph)) == [
        ("divergent_update", "ann", "age"),
        ("orphan_edge", "orphan", "dst"),
        ("cardinality_violation", "bo", "src"),
        ("value_constraint_violation", "ann", "visits"),
        ("unique_violation", "bo", "email"),
    ]


@pytest.mark.parametrize("side", ["b", "main"])
def test_a_number_of_edges_that_each_side_keeps_can_be_broken_by_both(tmp_path: Path, side: str) -> None:
    graph = create(tmp_path, "node P { name: String @key }\nedge Needs: P -> P @card(2..3)")
    graph.load([{"type": "P", "data": {"name": name}} for name in "abcd"])
    graph.load([edge("Needs", "a", end, f"a-{end}") for end in "bcd"])
    graph.create_branch("b")
    other = "main" if side == "b" else "b"
    run(graph, 'delete Needs where to = "b"', branch=side)
    run(graph, 'delete Needs where to = "c"', branch=other)
    assert kinds(refused(graph)) == [("cardinality_violation", "a", "src")]
    graph.load([edge("Needs", "a", "c", "a-c2")], branch=other)
    graph.merge("b")
    assert set(edges(graph, "Needs")) == {"a-d", "a-c2"}


def test_a_unique_value_may_move_from_one_entity_to_another(graph: omnigraph.Graph) -> None:
    put(graph, "ann", email="x@")
    graph.merge("main", "b")
    put(graph, "ann", "b", email=None)
    put(graph, "bo", "b", email="x@")
    put(graph, "cy", age=3)
    graph.merge("b")
    assert people(graph)["bo"]["email"] == "x@"
    assert "email" not in people(graph)["ann"]


@pytest.mark.parametrize(
    ("meanwhile", "take", "expected"),
    [
        ({}, "source", ("b", "a")),
        ({"ann": {"city": "x"}, "bo": {"city": "y"}}, "source", ("b", "a")),
        ({"ann": {"email": "c"}}, "source", ("b", "a")),
        ({"ann": {"email": "c"}}, "target", ("c", "a")),
        ({"ann": {"email": "c"}}, "base", None),
    ],
)
def test_unique_values_may_be_swapped(
    graph: omnigraph.Graph, meanwhile: dict[str, Any], take: str, expected: tuple[str, str] | None
) -> None:
    put(graph, "ann", email="a")
    put(graph, "bo", email="b")
    graph.merge("main", "b")
    for name, email in (("ann", None), ("bo", "a"), ("ann", "b")):
        put(graph, name, "b", email=email)
    put(graph, "cy", age=9)
    for name, values in meanwhile.items():
        put(graph, name, **values)
    settled = {"resolutions": [{"take": take}]}
    if expected is None:
        assert kinds(refused(graph, **settled)) == [("unique_violation", "bo", "email")]
        return
    graph.merge("b", **settled)
    assert (people(graph)["ann"]["email"], people(graph)["bo"]["email"]) == expected


def test_a_mixed_tuple_that_a_third_entity_holds_breaks_uniqueness(tmp_path: Path) -> None:
    schema = "node P { name: String @key\n a: I64?\n b: I64?\n @unique(a, b) }"
    graph = create(tmp_path, schema)
    graph.load([{"type": "P", "data": {"name": n, "a": a, "b": b}} for n, a, b in (("x", 1, 1), ("y", 2, 2))])
    graph.create_branch("b")
    run(graph, 'update P set {a: 2} where name = "x"', branch="b")
    run(graph, 'update P set {b: 2} where name = "x"')
    assert kinds(refused(graph)) == [("unique_violation", "x", "a")]
    graph.merge("b", resolutions=[{"id": "x", "property": "a", "value": 3}])
    rows = graph.snapshot().to_arrow("node:P").to_pylist()
    assert [(row["a"], row["b"]) for row in rows] == [(3, 2), (2, 2)]


def test_an_edge_that_both_sides_moved_is_settled_like_any_value(graph: omnigraph.Graph) -> None:
    graph.load([edge("Knows", "ann", "cy", "bo-cy")], "merge", branch="b")
    graph.load([edge("Knows", "dan", "ann", "bo-cy")], "merge")
    assert kinds(refused(graph)) == [("divergent_update", "bo-cy", "src")]
    assert kinds(refused(graph, policy={"Knows.src": "review", "*": "source"})) == [
        ("divergent_update", "bo-cy", "src")
    ]
    for rules in ({"policy": "source"}, {"policy": {"Knows.src": "source"}}, {"resolutions": [{"take": "source"}]}):
        assert graph.merge_preview("b", **rules).outcome.value == "merged"
    graph.merge("b", policy="source")
    # Only the target moved its other end.
    assert edges(graph) == {"bo-cy": ("ann", "ann")}


def test_an_orphan_can_be_deleted_from_a_table_that_is_taken_whole(graph: omnigraph.Graph) -> None:
    graph.load([edge("Knows", "ann", "dan", "new"), edge("Knows", "ann", "cy", "fine")], branch="b")
    run(graph, 'delete Person where name = "dan"')
    assert kinds(refused(graph)) == [("orphan_edge", "new", "dst")]
    graph.merge("b", resolutions=[{"take": "delete"}])
    assert set(edges(graph)) == {"bo-cy", "fine"}
    assert graph.merge("b").outcome.value == "already_up_to_date"


# --- values ----------------------------------------------------------------------------------------------


def doc(name: str, **properties: Any) -> dict[str, Any]:
    if properties.get("body") is not None:
        properties["body"] = f"base64:{base64.b64encode(properties['body']).decode()}"
    return {"type": "Doc", "data": {"name": name, **properties}}


def test_blobs_are_carried_from_the_side_that_changed_them(tmp_path: Path) -> None:
    graph = create(tmp_path, "node Doc { name: String @key\n body: Blob?\n n: I64? }")
    large = b"L" * 100_000
    graph.load([doc(name, body=b"old", n=0) for name in ("a", "b", "c", "d")])
    graph.create_branch("x")
    graph.load(
        [doc("a", body=large, n=0), doc("b", body=b"old", n=1), doc("c", body=None), doc("new", body=b"n")], branch="x"
    )
    graph.load([doc("a", body=b"old", n=5), doc("b", body=b"theirs", n=0), doc("d", body=b"same", n=0)])
    graph.load([doc("d", body=b"same", n=0)], branch="x")
    assert graph.merge("x").outcome.value == "merged"
    bodies = dict(
        zip(*(graph.snapshot().to_arrow("node:Doc").column(n).to_pylist() for n in ("id", "body")), strict=True)
    )
    assert bodies == {"a": large, "b": b"theirs", "c": None, "d": b"same", "new": b"n"}
    numbers = dict(
        zip(*(graph.snapshot().to_arrow("node:Doc").column(n).to_pylist() for n in ("id", "n")), strict=True)
    )
    assert numbers == {"a": 5, "b": 1, "c": 0, "d": 0, "new": None}


@pytest.mark.parametrize("take", ["source", "target", "base"])
def test_a_conflict_of_blobs_shows_sizes_and_is_settled_by_taking_a_side(tmp_path: Path, take: str) -> None:
    graph = create(tmp_path, "node Doc { name: String @key\n body: Blob? }")
    graph.load([doc("other", body=b"o"), doc("a", body=b"base")])
    graph.create_branch("x")
    graph.load([doc("a", body=b"source!")], branch="x")
    graph.load([doc("a", body=b"target")])
    [conflict] = refused(graph, "x")
    assert (conflict.base, conflict.source, conflict.target) == (4, 7, 6)
    graph.merge("x", resolutions=[{"take": take}])
    expected = {"source": b"source!", "target": b"target", "base": b"base"}[take]
    assert graph.read_blob("node", "Doc", "a", "body").read() == expected


def test_vectors_are_compared_bit_for_bit(tmp_path: Path) -> None:
    graph = create(tmp_path, "node V { name: String @key\n v: Vector(2)?\n n: I64? }")

    def load(v: list[float], n: int, branch: str = "main") -> None:
        rows = pa.table({"name": ["a"], "v": pa.array([v], pa.list_(pa.float32(), 2)), "n": [n]})
        graph.load(rows, type_name="V", branch=branch)

    load([1.0, 0.0], 0)
    graph.create_branch("b")
    load([1.0, 0.0], 1, "b")
    load([1.0, -0.0], 0)
    graph.merge("b")
    [row] = graph.snapshot().to_arrow("node:V").to_pylist()
    assert math.copysign(1, row["v"][1]) == -1
    assert row["n"] == 1


# --- history ---------------------------------------------------------------------------------------------


def test_the_targets_log_has_the_sources_commits_so_that_the_source_may_be_deleted(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    graph.create_branch("c", "b")
    put(graph, "bo", "c", age=3)
    theirs = {commit.id for commit in graph.commits("c")}
    put(graph, "cy", age=4)
    graph.merge("c")
    for name in ("b", "c"):
        graph.delete_branch(name)
    again = reopen(graph)
    assert theirs <= {commit.id for commit in again.commits()}
    for commit_id in theirs:
        assert again.snapshot(at=commit_id).commit_id == commit_id
    assert again.verify(deep=True).is_clean


def test_time_travel_follows_the_branch_itself_and_not_what_was_merged(graph: omnigraph.Graph) -> None:
    before = graph.snapshot().commit_id
    put(graph, "ann", "b", age=2)
    edited = graph.commits("b", limit=1).__next__()
    merged = graph.merge("b").commit
    assert merged is not None
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=edited.created_at_us)
    assert graph.snapshot("main", at=at).commit_id == before


def test_merges_in_both_directions_converge(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    put(graph, "bo", age=3)
    assert graph.merge("b").outcome.value == "merged"
    assert graph.merge("main", "b").outcome.value == "fast_forward"
    assert people(graph) == people(graph, "b")
    assert graph.merge("b").outcome.value == "fast_forward"
    put(graph, "ann", "b", age=7)
    # Every merge is a commit of its target, also a fast forward; so main has one that b does not have.
    result = graph.merge("b")
    assert result.outcome.value == "merged"
    assert [item.adopted for item in result.tables] == [True]
    assert people(graph)["ann"] == {"age": 7}


def test_disjoint_changes_commute(graph: omnigraph.Graph) -> None:
    for name in ("x", "y", "xy", "yx"):
        graph.create_branch(name)
    put(graph, "ann", "x", age=2)
    put(graph, "ann", "y", city="Rome")
    run(graph, 'delete Person where name = "dan"', branch="x")
    graph.load([edge("Knows", "ann", "bo", "new")], branch="y")
    run(graph, 'insert Person {name: "eve"}', branch="x")
    run(graph, 'insert Firm {title: "globex"}', branch="y")
    for order in ("xy", "yx"):
        for name in order:
            graph.merge(name, order)
    assert b"".join(graph.export("xy")) == b"".join(graph.export("yx"))
    assert people(graph, "xy")["ann"] == {"age": 2, "city": "Rome"}


def test_crossed_merges_have_a_base_and_lose_nothing(graph: omnigraph.Graph) -> None:
    graph.create_branch("x")
    graph.create_branch("y")
    put(graph, "ann", "x", age=2)
    put(graph, "bo", "y", age=3)
    graph.create_branch("old-x", "x")
    graph.merge("y", "x")
    graph.merge("old-x", "y")
    put(graph, "cy", "x", age=4)
    put(graph, "dan", "y", age=5)
    graph.merge("x", "y")
    expected = {"ann": {"age": 2}, "bo": {"age": 3}, "cy": {"age": 4}, "dan": {"age": 5}}
    assert people(graph, "y") == expected


def test_a_long_history_is_merged_across_the_log(graph: omnigraph.Graph) -> None:
    for number in range(70):
        insert(graph, f"m{number}")
        insert(graph, f"b{number}", branch="b")
    again = reopen(graph)
    assert again.merge("b").outcome.value == "merged"
    assert len(names(again)) == 4 + 140
    ids = [commit.id for commit in again.commits()]
    assert len(ids) == len(set(ids)) == 2 + 140 + 1
    insert(again, "later", branch="b")
    assert again.merge("b").outcome.value == "merged"
    assert len(list(again.commits())) == 2 + 140 + 1 + 2
    assert again.verify(deep=True).is_clean


def test_a_repeated_merge_with_a_key_finds_the_first(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    first = graph.merge("b", idempotency_key="k")
    put(graph, "ann", "b", age=3)
    again = graph.merge("b", idempotency_key="k")
    assert again.repeated
    assert again.commit == first.commit
    assert people(graph)["ann"] == {"age": 2}


def test_a_branch_into_itself_an_unknown_one_and_a_lost_head_are_refused(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    with pytest.raises(UsageError, match="into itself"):
        graph.merge("main")
    with pytest.raises(NotFoundError):
        graph.merge("nobody")
    with pytest.raises(PreconditionFailed):
        graph.merge("b", if_commit=graph.snapshot("b").commit_id)
    graph.merge("b", if_commit=graph.snapshot().commit_id)


# --- previews --------------------------------------------------------------------------------------------


def test_a_preview_is_saved_reviewed_and_taken_up(graph: omnigraph.Graph, tmp_path: Path) -> None:
    both(graph, {"age": 5, "city": "S"}, {"age": 6, "city": "T"}, {})
    preview = graph.merge_preview("b", policy={"Person.city": "source"})
    save_merge_preview(preview, tmp_path / "preview.json")
    loaded = load_merge_preview(tmp_path / "preview.json")
    assert loaded == preview
    with pytest.raises(MergeConflicts):
        graph.merge(loaded)
    graph.merge(loaded, resolutions=[{"type": "Person", "id": "ann", "property": "age", "take": "source"}])
    assert people(graph)["ann"] == {"age": 5, "city": "S"}


def test_a_preview_writes_nothing(graph: omnigraph.Graph) -> None:
    graph.apply_schema(graph.schema_text().replace("city: String?", "city: String? zip: String?"), branch="b")
    graph.apply_schema(graph.schema_text().replace("node Firm {", "node Firm { size: I64?"))
    put(graph, "ann", "b", age=2)
    put(graph, "bo", age=3)
    files = everything(Path(graph.uri.removeprefix("file://")))
    preview = graph.merge_preview("b")
    assert everything(Path(graph.uri.removeprefix("file://"))) == files
    result = graph.merge(preview)
    assert (result.outcome, result.tables) == (preview.outcome, preview.tables)


@pytest.mark.parametrize("moved", ["b", "main"])
def test_a_preview_says_when_a_head_has_moved(graph: omnigraph.Graph, moved: str) -> None:
    put(graph, "ann", "b", age=5)
    preview = graph.merge_preview("b")
    put(graph, "bo", moved, age=7)
    with pytest.raises(PreconditionFailed, match=f"{moved} has moved"):
        graph.merge(preview)
    with pytest.raises(UsageError):
        graph.merge(preview, "main")


def test_a_file_that_is_no_preview_is_refused(tmp_path: Path) -> None:
    for text in ("", "{}", '{"format": "omnigraph.merge_preview"}'):
        (tmp_path / "p").write_text(text)
        with pytest.raises(UsageError):
            load_merge_preview(tmp_path / "p")
    with pytest.raises(UsageError):
        load_merge_preview(tmp_path / "nothing")


# --- schemas ---------------------------------------------------------------------------------------------


def test_a_schema_that_one_side_changed_is_taken_and_two_changes_are_refused() -> None:
    texts = ("node A { n: String }", "node A { n: I64 }", "node A { n: Bool }")
    base, one, other = (accept(parse_schema(Source(text, "<test>")), domain="d") for text in texts)
    assert merge_schemas(base, one, base) == one
    assert merge_schemas(base, base, one) == one
    assert merge_schemas(base, one, one) == one
    with pytest.raises(SchemaConflict, match="both branches changed the schema differently"):
        merge_schemas(base, one, other)


def test_branches_are_compared_by_the_commits_that_only_one_of_them_has(tmp_path: Path) -> None:
    graph = fresh(tmp_path)

    def compared(against: str) -> dict[str, tuple[int | None, int | None]]:
        return {item.name: (item.ahead, item.behind) for item in graph.branches(against=against)}

    for branch, name in (("b", "ann"), ("b", "bo"), ("main", "cy")):
        put(graph, name, branch, age=2)
    assert compared("main") == {"main": (0, 0), "b": (2, 1)}
    assert compared("b") == {"main": (1, 2), "b": (0, 0)}
    graph.merge("b")
    # The merge commit is the one that the branch lacks, beside that of main before it.
    assert compared("main") == {"main": (0, 0), "b": (0, 2)}
    # A fast-forward is a commit of its own.
    graph.merge("main", "b")
    assert compared("main")["b"] == (1, 0)
    assert [item.ahead for item in graph.branches()] == [None, None]
