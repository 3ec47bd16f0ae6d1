"""Merges and reverts by actors with a scope: made if every image is inside, previewed as far as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import MergeConflicts, PolicyDenied, UsageError
from tests.features.policy.teams import BUNDLE, ROWS, bundle, rows

Statement = str


def run(graph: Graph, branch: str, *statements: Statement) -> None:
    for text in statements:
        graph.mutate(f"query q() {{ {text} }}", branch=branch)


@pytest.fixture
def sides(ann: Graph, plain: Graph) -> tuple[Graph, Graph]:
    """The graph of ann and of its owner, with a branch of ann."""
    ann.create_branch("mine")
    return ann, plain


VISIBLE: dict[str, tuple[tuple[Statement, ...], dict[str, tuple[int, int, int]]]] = {
    "an update": (('update Person set {age: 31} where name = "ann"',), {"node:Person": (0, 1, 0)}),
    "an insert": (('insert Person {name: "flo", team: "red"}',), {"node:Person": (1, 0, 0)}),
    "an edge": (('insert Knows {from: "ann", to: "dan", since: 1}',), {"edge:Knows": (1, 0, 0)}),
    "an edge of a new node": (
        ('insert Person {name: "flo", team: "red"}', 'insert Knows {from: "flo", to: "ann"}'),
        {"node:Person": (1, 0, 0), "edge:Knows": (1, 0, 0)},
    ),
    "a deleted edge": (("delete Knows where since = 1",), {"edge:Knows": (0, 0, 1)}),
}


@pytest.mark.parametrize("other", [False, True], ids=["fast forward", "three-way"])
@pytest.mark.parametrize("case", VISIBLE)
def test_a_merge_inside_the_scope_is_made(case: str, other: bool, sides: tuple[Graph, Graph]) -> None:
    ann, plain = sides
    statements, counts = VISIBLE[case]
    run(ann, "mine", *statements)
    if other:
        # Others change hidden and visible entities of the target meanwhile.
        run(plain, "main", 'update Person set {age: 1} where name = "cleo"', 'insert City {name: "Oslo"}')
        run(plain, "main", 'update Person set {salary: 9} where name = "bob"', "delete Knows where since = 2")
    preview = ann.merge_preview("mine")
    assert {item.key: (item.inserted, item.updated, item.deleted) for item in preview.tables} == counts
    assert preview.outcome.value == ("merged" if other else "fast_forward")
    result = ann.merge("mine")
    assert result.commit is not None
    assert result.commit.actor == "ann"
    assert not result.commit.tables
    assert not plain.diff("main", "mine") or other
    assert plain.merge("mine").commit is None


HIDDEN: dict[str, tuple[Statement, ...]] = {
    "a hidden entity": ('update Person set {age: 1} where name = "cleo"',),
    "a hidden insert": ('insert Person {name: "gus", team: "blue"}',),
    "a hidden delete": ('delete Person where name = "eve"',),
    "a hidden type": ('insert City {name: "Oslo"}',),
    "an entity that becomes hidden": ('update Person set {team: "blue"} where name = "dan"',),
    "an entity that becomes visible": ('update Person set {team: "red"} where name = "cleo"',),
    "a hidden property": ('update Person set {salary: 1} where name = "ann"',),
    "a hidden property of a new entity": ('insert Person {name: "gus", team: "red", salary: 5}',),
    "a hidden edge": ('insert Knows {from: "ann", to: "bob", since: 77}',),
    "an edge to a hidden node": ('insert Knows {from: "ann", to: "cleo", since: 1}',),
    "one of many": (
        'update Person set {age: 31} where name = "ann"',
        'insert Person {name: "flo", team: "red"}',
        'update Person set {age: 1} where name = "cleo"',
    ),
}
VISIBLE_PARTS = {
    "an entity that becomes hidden": {"node:Person": (0, 0, 1), "edge:Knows": (0, 0, 0)},
    "an entity that becomes visible": {"node:Person": (1, 0, 0)},
    "a hidden property of a new entity": {"node:Person": (1, 0, 0)},
    "one of many": {"node:Person": (1, 1, 0)},
}


@pytest.mark.parametrize("other", [False, True], ids=["fast forward", "three-way"])
@pytest.mark.parametrize("case", HIDDEN)
def test_a_merge_that_touches_anything_hidden_needs_an_actor_without_a_scope(
    case: str, other: bool, sides: tuple[Graph, Graph], tmp_path: Path
) -> None:
    ann, plain = sides
    run(plain, "mine", *HIDDEN[case])
    if other:
        run(ann, "main", 'update Person set {age: 41} where name = "bob"', "delete Knows where since = 4")
    head = plain.snapshot().commit_id
    preview = ann.merge_preview("mine")
    shown = {item.key: (item.inserted, item.updated, item.deleted) for item in preview.tables}
    assert shown == {key: counts for key, counts in VISIBLE_PARTS.get(case, {}).items() if any(counts)}
    with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
        ann.merge("mine")
    assert plain.snapshot().commit_id == head
    root = omnigraph.open(plain.uri, policy=tmp_path / "policy" / "policy.yaml", actor="root")
    assert root.merge("mine").commit is not None


def test_conflicts_are_shown_if_the_actor_may_see_every_side(sides: tuple[Graph, Graph]) -> None:
    ann, plain = sides
    run(ann, "mine", 'update Person set {age: 31} where name = "ann"')
    run(ann, "main", 'update Person set {age: 32} where name = "ann"')
    preview = ann.merge_preview("mine")
    (conflict,) = preview.conflicts
    assert (conflict.id, conflict.property, conflict.base, conflict.source, conflict.target) == (
        "ann",
        "age",
        30,
        31,
        32,
    )
    with pytest.raises(MergeConflicts, match="age of 'ann'"):
        ann.merge("mine")
    assert ann.merge(preview, resolutions=[{"id": "ann", "take": "source"}]).commit is not None
    assert rows(plain, 'match { $p: Person { name: "ann" } } return { $p.age }') == [(31,)]


CONFLICTS: dict[str, tuple[Statement, Statement]] = {
    "of a hidden entity": (
        'update Person set {age: 1} where name = "cleo"',
        'update Person set {age: 2} where name = "cleo"',
    ),
    "of a hidden property": (
        'update Person set {salary: 1} where name = "ann"',
        'update Person set {salary: 2} where name = "ann"',
    ),
    "of an entity that one side hides": (
        'update Person set {team: "blue"} where name = "dan"',
        'update Person set {team: "green"} where name = "dan"',
    ),
    "of a hidden insert": (
        'insert Person {name: "gus", team: "blue", age: 1}',
        'insert Person {name: "gus", team: "blue", age: 2}',
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_conflict_about_something_hidden_is_a_denial(case: str, sides: tuple[Graph, Graph]) -> None:
    ann, plain = sides
    source, target = CONFLICTS[case]
    run(plain, "mine", source)
    run(plain, "main", target)
    assert plain.merge_preview("mine").conflicts
    preview = ann.merge_preview("mine")
    assert preview.conflicts == ()
    assert preview.outcome.value == "merged"
    for settle in ({}, {"policy": "source"}, {"policy": "target"}):
        if settle.get("policy") == "target":
            # Otherwise nothing is left to change, and the merge would record its parents only.
            run(plain, "mine", 'update Person set {age: 3} where name = "eve"')
        with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
            ann.merge("mine", **settle)


def test_a_deleted_side_of_a_conflict_shows_visible_properties_alone(sides: tuple[Graph, Graph]) -> None:
    ann, plain = sides
    run(plain, "mine", 'update Person set {age: 45, salary: 7} where name = "bob"')
    run(plain, "main", 'delete Person where name = "bob"')
    (conflict,) = ann.merge_preview("mine").conflicts
    assert conflict.source == {"age": 45}
    assert conflict.base == {"age": 40}
    (whole,) = plain.merge_preview("mine").conflicts
    assert whole.source == {"age": 45, "salary": 7}


def test_a_broken_constraint_names_no_other_entity(plain: Graph, tmp_path: Path) -> None:
    graph = omnigraph.create(
        tmp_path / "u.omni",
        "node Person { name: String @key team: String? mail: String? @unique } edge Knows: Person -> Person",
    )
    graph.load({"Person": [{"name": name, "team": team} for name, team in (("ann", "red"), ("cleo", "blue"))]})
    policy = bundle(tmp_path / "p3", ROWS.replace("resource has since && resource.since > 50", "false"))
    ann = omnigraph.open(graph.uri, policy=policy, actor="ann")
    ann.create_branch("mine")
    run(ann, "mine", 'update Person set {mail: "a@x"} where name = "ann"')
    run(graph, "main", 'update Person set {mail: "a@x"} where name = "cleo"')
    assert "cleo" in str(graph.merge_preview("mine").conflicts)
    (conflict,) = ann.merge_preview("mine").conflicts
    assert conflict.id == "ann"
    assert "cleo" not in str(conflict)
    with pytest.raises(MergeConflicts) as refused:
        ann.merge("mine")
    assert "cleo" not in str(refused.value)


def test_rules_of_a_merge_name_only_what_the_actor_may_see(sides: tuple[Graph, Graph]) -> None:
    ann, _ = sides
    run(ann, "mine", 'update Person set {age: 31} where name = "ann"')
    for said in ({"policy": {"City": "source"}}, {"resolutions": [{"type": "City", "take": "source"}]}):
        with pytest.raises(UsageError, match="there is no type 'City'"):
            ann.merge_preview("mine", **said)
    with pytest.raises(UsageError, match="Person has no property 'salary'"):
        ann.merge_preview("mine", policy={"Person.salary": "source"})


def test_a_merge_across_another_schema_is_denied(sides: tuple[Graph, Graph]) -> None:
    ann, plain = sides
    plain.apply_schema(plain.schema_text() + "\nnode Extra { name: String @key }\n", branch="mine")
    for call in (ann.merge_preview, ann.merge):
        with pytest.raises(PolicyDenied, match="the schemas differ"):
            call("mine")


def test_the_rules_of_the_source_hold_for_its_images(plain: Graph, tmp_path: Path) -> None:
    """A branch on which the actor may see less must not be read by merging it."""
    rules = """
    permit (principal, action, resource) when { context.branch == "main" };
    permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::City);
    """.replace(
        "action, resource) when",
        'action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"], resource) when',
    )
    plain.create_branch("theirs")
    run(plain, "theirs", 'update Person set {age: 99} where name = "cleo"')
    ann = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p4", rules), actor="ann")
    assert ann.counts()["Person"] == 5
    assert "Person" not in ann.counts("theirs")
    assert ann.merge_preview("theirs").tables == ()
    with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
        ann.merge("theirs")
    run(plain, "theirs", 'update Person set {age: 50} where name = "cleo"', 'insert City {name: "Oslo"}')
    assert ann.merge("theirs").commit is not None


def test_an_actor_who_may_read_all_but_not_change_all_merges_what_it_may_change(plain: Graph, tmp_path: Path) -> None:
    rules = """
    permit (principal, action == Omnigraph::Action::"read_entity", resource);
    permit (principal, action == Omnigraph::Action::"change_entity", resource is Data::City);
    """
    ann = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p5", rules), actor="ann")
    plain.create_branch("mine")
    run(plain, "mine", 'insert City {name: "Oslo"}')
    assert ann.merge("mine").commit is not None
    run(plain, "mine", 'update Person set {age: 1} where name = "ann"')
    assert [item.updated for item in ann.merge_preview("mine").tables] == [1]
    with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
        ann.merge("mine")


REVERTS: dict[str, tuple[Statement, bool]] = {
    "a visible update": ('update Person set {age: 31} where name = "ann"', True),
    "a visible insert": ('insert Person {name: "flo", team: "red"}', True),
    "a hidden update": ('update Person set {age: 1} where name = "cleo"', False),
    "a hidden property": ('update Person set {salary: 1} where name = "ann"', False),
    "a hidden type": ('insert City {name: "Oslo"}', False),
}


@pytest.mark.parametrize("case", REVERTS)
def test_a_revert_is_decided_like_a_merge(case: str, ann: Graph, plain: Graph) -> None:
    statement, is_visible = REVERTS[case]
    run(plain, "main", statement)
    head = plain.snapshot().commit_id
    preview = ann.revert_preview("HEAD")
    assert bool(preview.tables) == is_visible
    if is_visible:
        done = ann.revert("HEAD")
        assert done.commit is not None
        assert not done.commit.tables
        assert not plain.diff(f"{head}~1", "main")
    else:
        with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
            ann.revert("HEAD")
        assert plain.snapshot().commit_id == head


def test_several_stretches_are_reverted_if_all_of_them_are_visible(ann: Graph, plain: Graph) -> None:
    def commit(text: str, run_id: str) -> None:
        plain.mutate(f"query q() {{ {text} }}", provenance={"run": run_id})

    commit('update Person set {age: 31} where name = "ann"', "one")
    commit('update Person set {age: 1} where name = "cleo"', "two")
    commit('update Person set {age: 41} where name = "bob"', "one")
    commit('update Person set {age: 61} where name = "dan"', "two")
    assert [item.updated for item in ann.revert_preview(run="one").tables] == [2]
    for call in (ann.revert_preview, ann.revert):
        with pytest.raises(PolicyDenied, match="outside of the data rules of the actor"):
            call(run="two")
    assert ann.revert(run="one").commit is not None


def test_a_merge_by_an_actor_without_a_scope_is_not_slowed(plain: Graph, tmp_path: Path, monkeypatch: Any) -> None:
    from omnigraph.write import merge_guard

    def never(*_: Any) -> Any:
        raise AssertionError("images are read for actors with a scope alone")

    monkeypatch.setattr(merge_guard, "effects", never)
    root = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p6", ROWS, BUNDLE), actor="root")
    root.create_branch("mine")
    run(root, "mine", 'update Person set {age: 31} where name = "cleo"')
    checks: list[Callable[[], Any]] = [lambda: root.merge_preview("mine"), lambda: root.merge("mine")]
    assert [bool(check().tables) for check in checks] == [True, True]
