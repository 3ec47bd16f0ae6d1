"""Mistakes that others made, by name."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from tests.features.merge.graphs import edges, fresh, kinds, people, put, refused
from tests.promises.protocol.graphs import create, edge, reopen, run


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return fresh(tmp_path)


def scatter(graph: omnigraph.Graph, branch: str = "main") -> None:
    """Enough commits that there is something to compact."""
    for number in range(20):
        graph.load([{"type": "Person", "data": {"name": f"{branch}{number:02}", "age": number}}], branch=branch)


@pytest.mark.parametrize("compacted", [["b"], ["main"], ["b", "main"]])
def test_no_false_conflict_after_a_branch_was_compacted(graph: omnigraph.Graph, compacted: list[str]) -> None:
    scatter(graph)
    graph.create_branch("c")
    for branch in [name.replace("b", "c") for name in compacted]:
        assert graph.optimize(branch, index=False).commits
    put(graph, "ann", "c", age=5)
    put(graph, "ann", city="Rome")
    put(graph, "bo", "c", age=6)
    run(graph, 'delete Person where name = "main03"')
    assert graph.merge("c").outcome.value == "merged"
    assert people(graph)["ann"] == {"age": 5, "city": "Rome"}
    assert people(graph)["bo"] == {"age": 6}
    assert "main03" not in people(graph)
    assert len(people(graph)) == 4 + 19


def test_a_compacted_branch_without_changes_changes_nothing(graph: omnigraph.Graph) -> None:
    scatter(graph)
    graph.create_branch("c")
    assert graph.optimize("c", index=False).commits
    put(graph, "ann", age=7)
    before = people(graph)
    result = graph.merge("c")
    assert result.outcome.value == "merged"
    assert result.tables == ()
    assert people(graph) == before


def test_an_edge_deleted_on_one_side_is_not_resurrected_by_the_merge(graph: omnigraph.Graph) -> None:
    run(graph, 'delete Knows where from = "bo"', branch="b")
    graph.load([edge("Knows", "ann", "dan", "ann-dan")])
    graph.merge("b")
    assert edges(graph) == {"ann-dan": ("ann", "dan")}
    # Nor when the target deleted it and the source brings other edges of the same table.
    run(graph, 'delete Knows where from = "ann"')
    graph.load([edge("Knows", "cy", "dan", "cy-dan")], branch="b")
    graph.merge("b")
    assert edges(graph) == {"cy-dan": ("cy", "dan")}


def test_a_child_branch_is_readable_after_a_fast_forward_merge_of_its_parent(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    graph.create_branch("child", "b")
    put(graph, "bo", "child", age=3)
    assert graph.merge("b").outcome.value == "fast_forward"
    graph.delete_branch("b")
    fresh_handle = reopen(graph)
    assert people(fresh_handle, "child")["bo"] == {"age": 3}
    # The merge of its parent is a commit of main's own, so this is no fast forward; but no row is read either.
    result = fresh_handle.merge("child")
    assert [(item.key, item.adopted) for item in result.tables] == [("node:Person", True)]
    assert people(fresh_handle)["bo"] == {"age": 3}
    assert fresh_handle.verify(deep=True).is_clean


def test_a_branch_whose_edits_net_to_zero_changes_nothing_and_is_part_of_the_history(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    put(graph, "ann", "b", age=1)
    run(graph, 'insert Person {name: "eve"}', branch="b")
    run(graph, 'delete Person where name = "eve"', branch="b")
    put(graph, "ann", age=9)
    before = people(graph)
    result = graph.merge("b")
    assert result.outcome.value == "merged"
    assert people(graph) == before
    assert graph.merge("b").outcome.value == "already_up_to_date"


def everything(graph: omnigraph.Graph, branch: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(graph.export(branch)).splitlines()]


def test_a_full_reload_on_a_branch_merges_back_as_the_rows_it_changed(graph: omnigraph.Graph) -> None:
    rows = everything(graph, "b")
    for row in rows:
        if row.get("type") == "Person" and row["data"]["name"] == "bo":
            row["data"]["age"] = 77
    graph.load(rows, "overwrite", branch="b")
    put(graph, "ann", age=5)
    put(graph, "bo", city="Oslo")
    result = graph.merge("b")
    assert [(item.key, item.inserted, item.updated, item.deleted) for item in result.tables if not item.adopted] == [
        ("node:Person", 0, 1, 0)
    ]
    assert people(graph)["ann"] == {"age": 5}
    assert people(graph)["bo"] == {"age": 77, "city": "Oslo"}


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_row_that_the_target_wrote_again_as_it_was_is_replaced_and_not_doubled(
    graph: omnigraph.Graph, is_deleted: bool
) -> None:
    for number in range(3):
        # Written again each time, and moved by it; the last copy is the one to be replaced.
        graph.load([{"type": "Person", "data": {"name": "dan", "age": 1}}], message=str(number))
    if is_deleted:
        run(graph, 'delete Person where name = "dan"', branch="b")
    else:
        put(graph, "dan", "b", age=2)
    put(graph, "ann", age=9)
    graph.merge("b")
    rows = graph.snapshot().to_arrow("node:Person").column("id").to_pylist()
    assert sorted(rows) == ["ann", "bo", "cy", *([] if is_deleted else ["dan"])]
    assert people(graph).get("dan") == (None if is_deleted else {"age": 2})


def test_delete_and_reinsert_of_the_same_id_is_an_update(graph: omnigraph.Graph) -> None:
    run(graph, 'delete Person where name = "dan"', branch="b")
    run(graph, 'insert Person {name: "dan", age: 1, city: "Bern"}', branch="b")
    put(graph, "dan", email="d@")
    graph.merge("b")
    assert people(graph)["dan"] == {"age": 1, "city": "Bern", "email": "d@"}
    # The same values again are no change at all.
    run(graph, 'delete Person where name = "cy"', branch="b")
    graph.load([{"type": "Person", "data": {"name": "cy", "age": 1}}, edge("Knows", "bo", "cy", "bo-cy")], branch="b")
    put(graph, "cy", age=50)
    graph.merge("b")
    assert people(graph)["cy"] == {"age": 50}


def test_both_sides_add_the_same_edge(graph: omnigraph.Graph) -> None:
    for branch in ("b", "main"):
        graph.load([edge("Knows", "ann", "dan", "same", since=3)], branch=branch)
    graph.merge("b")
    assert edges(graph) == {"bo-cy": ("bo", "cy"), "same": ("ann", "dan")}
    # Two edges with ids of their own are two edges, whatever they connect.
    for branch in ("b", "main"):
        run(graph, 'insert Knows {from: "dan", to: "ann"}', branch=branch)
    graph.merge("b")
    assert list(edges(graph).values()).count(("dan", "ann")) == 2


def test_both_sides_add_the_same_edge_with_different_values(graph: omnigraph.Graph) -> None:
    for number, branch in enumerate(("b", "main")):
        graph.load([edge("Knows", "ann", "dan", "same", since=number)], branch=branch)
    assert kinds(refused(graph)) == [("divergent_insert", "same", "since")]


@pytest.mark.parametrize("deleted_on", ["b", "main"])
@pytest.mark.parametrize("end", ["src", "dst"])
def test_a_node_deleted_on_one_side_while_the_other_side_adds_an_edge_to_it(
    graph: omnigraph.Graph, deleted_on: str, end: str
) -> None:
    other = "main" if deleted_on == "b" else "b"
    run(graph, 'delete Person where name = "dan"', branch=deleted_on)
    ends = ("dan", "ann") if end == "src" else ("ann", "dan")
    graph.load([edge("Knows", *ends, "new")], branch=other)
    assert kinds(refused(graph)) == [("orphan_edge", "new", end)]
    # Also when both tables were changed on both sides.
    put(graph, "ann", other, age=4)
    graph.load([edge("Knows", "ann", "bo", f"more-{deleted_on}")], branch=deleted_on)
    assert kinds(refused(graph)) == [("orphan_edge", "new", end)]
    graph.merge("b", resolutions=[{"kind": "orphan_edge", "take": "delete"}])
    assert edges(graph) == {"bo-cy": ("bo", "cy"), f"more-{deleted_on}": ("ann", "bo")}
    assert "dan" not in people(graph)
    assert people(graph)["ann"] == {"age": 4}


@pytest.fixture
def crossed(graph: omnigraph.Graph) -> omnigraph.Graph:
    """Main and b, each with the other's first edits merged in and nothing that came after: two best ancestors."""
    put(graph, "ann", "b", age=2, visits=5, title="first")
    put(graph, "bo", age=3, visits=1)
    put(graph, "ann", visits=7)
    graph.load([{"type": "Person", "data": {"name": "eve", "age": 1}}], branch="b")
    graph.create_branch("then")
    graph.merge("b")
    graph.merge("then", "b")
    assert people(graph) == people(graph, "b")
    return graph


@pytest.mark.parametrize("direction", [("b", "main"), ("main", "b")])
def test_crossed_histories_do_not_overrule_a_value_that_was_changed_back(
    crossed: omnigraph.Graph, direction: tuple[str, str]
) -> None:
    source, target = direction
    for name, branch in (("ann", source), ("bo", source)):
        put(crossed, name, branch, age=1)
    put(crossed, "ann", target, city="Rome")
    assert crossed.merge(source, target).outcome.value == "merged"
    assert people(crossed, target)["ann"] == {"age": 1, "visits": 12, "title": "first", "city": "Rome"}
    assert people(crossed, target)["bo"] == {"age": 1, "visits": 1}


def test_crossed_histories_count_an_edit_of_one_side_once(crossed: omnigraph.Graph) -> None:
    put(crossed, "ann", "b", age=9, visits=14)
    put(crossed, "ann", visits=15)
    crossed.merge("b")
    assert people(crossed)["ann"] == {"age": 9, "visits": 17, "title": "first"}


def test_crossed_histories_lose_no_deletion_and_leave_no_orphan(crossed: omnigraph.Graph) -> None:
    run(crossed, 'delete Person where name = "eve"', branch="b")
    put(crossed, "ann", city="Rome")
    assert crossed.merge_preview("b").outcome.value == "merged"
    crossed.load([edge("Knows", "ann", "eve", "new")])
    assert kinds(refused(crossed)) == [("orphan_edge", "new", "dst")]
    put(crossed, "eve", age=5)
    assert kinds(refused(crossed))[0] == ("delete_vs_update", "eve", None)


def test_crossed_histories_whose_bases_were_settled_differently_ask_again(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", age=2)
    put(graph, "ann", age=3)
    graph.create_branch("then")
    graph.merge("b", policy="source")
    graph.merge("then", "b", policy="source")
    assert (people(graph)["ann"]["age"], people(graph, "b")["ann"]["age"]) == (2, 3)
    [conflict] = refused(graph)
    assert (conflict.id, conflict.property, conflict.base, conflict.source, conflict.target) == (
        "ann",
        "age",
        None,
        3,
        2,
    )
    assert kinds(refused(graph, resolutions=[{"take": "base"}])) == [("divergent_update", "ann", "age")]
    graph.merge("b", resolutions=[{"take": "source"}])
    assert people(graph)["ann"] == {"age": 3}


@pytest.mark.parametrize(("policy", "day"), [("max", 3), ("min", 2)])
def test_the_later_or_earlier_instant_of_both_sides_is_kept(tmp_path: Path, policy: str, day: int) -> None:
    graph = create(tmp_path, f"node Event {{ name: String @key at: DateTime? @merge({policy}) }}")

    def move(branch: str, at: int) -> None:
        run(graph, f'update Event set {{at: datetime("2026-01-0{at}T00:00:00Z")}} where name = "a"', branch=branch)

    graph.load([{"type": "Event", "data": {"name": "a", "at": "2026-01-01T00:00:00Z"}}])
    graph.create_branch("b")
    move("b", 3)
    move("main", 2)
    assert graph.merge("b").outcome.value == "merged"
    [row] = graph.query("query q() { match { $e: Event } return { $e.at } }").to_arrow().to_pylist()
    assert row["e.at"] == datetime(2026, 1, day, tzinfo=UTC)
