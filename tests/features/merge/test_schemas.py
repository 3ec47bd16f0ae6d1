"""Merging branches whose schemas differ: rows of both sides under the schema of both."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts, SchemaConflict, UsageError
from omnigraph.write.merge.decide import MergeOutcome
from tests.promises.protocol.graphs import contents, create, edge, person, reopen, run

BASE = """
node Person { name: String @key age: I32? email: String? }
node City { title: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""
DATA = [
    person("ann", age=1, email="a@x"),
    person("bo", age=2, email="b@x"),
    person("cy", age=3),
    {"type": "City", "data": {"title": "Rome"}},
    edge("Knows", "ann", "bo", "k1", since=3),
    edge("LivesIn", "ann", "Rome", "l1"),
]
SIDES = [("trial", "main"), ("main", "trial")]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    """A graph with the branches main and trial, which are the same."""
    made = create(tmp_path, BASE)
    made.load(DATA, "append")
    made.create_branch("trial")
    return made


def changed(*replacements: tuple[str, str]) -> str:
    text = BASE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def people(graph: omnigraph.Graph, branch: str = "main", type_name: str = "Person") -> dict[str, dict[str, Any]]:
    rows = contents(reopen(graph).snapshot(branch))[type_name]
    return {row.pop("name"): row for row in rows}


RENAMED = changed(
    ("node Person {", 'node Human @rename_from("Person") {'),
    ("age: I32?", "years: I32? @rename_from(age) nick: String?"),
    ("Person ->", "Human ->"),
    ("-> Person", "-> Human"),
    ("edge LivesIn: Human -> City\n", "node Pet { name: String @key }\n"),
)


def test_a_schema_change_is_fast_forwarded_with_its_data(graph: omnigraph.Graph) -> None:
    graph.apply_schema(RENAMED, branch="trial")
    run(graph, 'insert Human {name: "dee", nick: "d"} insert Pet {name: "rex"}', branch="trial")
    merged = graph.merge("trial")
    assert (merged.outcome, merged.commit is not None) == (MergeOutcome.FAST_FORWARD, True)
    assert contents(reopen(graph)) == contents(graph.snapshot("trial"))
    assert graph.snapshot().counts() == {"edge:Knows": 1, "node:City": 1, "node:Human": 4, "node:Pet": 1}
    assert graph.schema_text() == graph.schema_text("trial")
    assert merged.commit is not None
    assert not merged.commit.files
    assert graph.merge("trial").outcome is MergeOutcome.ALREADY_UP_TO_DATE
    run(graph, 'update Human set {years: 9} where name = "ann"')
    assert graph.verify(deep=True).is_clean


@pytest.mark.parametrize(("migrated", "written"), SIDES)
def test_a_table_that_one_side_migrated_and_the_other_wrote_to(
    graph: omnigraph.Graph, migrated: str, written: str
) -> None:
    graph.apply_schema(RENAMED.replace("node Pet", "edge LivesIn: Human -> City\nnode Pet"), branch=migrated)
    run(graph, 'update Human set {nick: "annie"} where name = "ann" insert Human {name: "dee"}', branch=migrated)
    run(graph, 'update Person set {age: 10} where name = "ann" delete Person where name = "cy"', branch=written)
    run(graph, 'insert Person {name: "eve", age: 5} insert LivesIn {from: "eve", to: "Rome"}', branch=written)
    assert graph.merge("trial").outcome is MergeOutcome.MERGED
    assert people(graph, "main", "Human") == {
        "ann": {"years": 10, "email": "a@x", "nick": "annie"},
        "bo": {"years": 2, "email": "b@x"},
        "dee": {},
        "eve": {"years": 5},
    }
    assert graph.snapshot().counts() == {
        "edge:Knows": 1,
        "edge:LivesIn": 2,
        "node:City": 1,
        "node:Human": 4,
        "node:Pet": 0,
    }
    assert graph.verify(deep=True).is_clean
    # And the other way, which brings nothing but the commits.
    graph.merge("main", into="trial")
    assert contents(graph.snapshot("trial")) == contents(graph)
    assert not graph.diff("trial", "main")


def test_both_sides_migrate_and_write(graph: omnigraph.Graph) -> None:
    graph.apply_schema(changed(("age: I32?", "age: I32? mine: String?"), ("since: I32?", "")), branch="trial")
    graph.apply_schema(changed(("age: I32?", "age: I32? theirs: I32?"), ("title: String", "size: I32? title: String")))
    run(
        graph, 'update Person set {mine: "m"} where name = "ann" insert Person {name: "dee", mine: "d"}', branch="trial"
    )
    run(graph, 'update Person set {theirs: 1} where name = "ann" insert Person {name: "eve", theirs: 2}')
    text = graph.schema_text()
    assert graph.merge("trial").outcome is MergeOutcome.MERGED
    assert people(graph) == {
        "ann": {"age": 1, "email": "a@x", "mine": "m", "theirs": 1},
        "bo": {"age": 2, "email": "b@x"},
        "cy": {"age": 3},
        "dee": {"mine": "d"},
        "eve": {"theirs": 2},
    }
    assert contents(graph)["Knows"] == [{"from": "ann", "to": "bo"}]
    assert graph.schema_text() != text
    assert graph.plan_schema(graph.schema_text()).steps == ()
    # Life goes on, on both branches and between them.
    run(graph, 'update Person set {mine: "x"} where name = "bo"', branch="trial")
    run(graph, 'insert City {title: "Oslo", size: 3}')
    graph.merge("trial")
    assert people(graph)["bo"] == {"age": 2, "email": "b@x", "mine": "x"}
    graph.merge("main", into="trial")
    assert contents(graph.snapshot("trial")) == contents(graph)


def test_what_both_sides_add_alike_is_one_thing(graph: omnigraph.Graph) -> None:
    text = changed(
        ("age: I32?", "nick: String? age: I32?"), ("edge LivesIn", "node Pet { name: String @key }\nedge LivesIn")
    )
    for branch, name, nick in (("trial", "ann", "a"), ("main", "bo", "b")):
        graph.apply_schema(text, branch=branch)
        run(graph, f'update Person set {{nick: "{nick}"}} where name = "{name}"', branch=branch)
        run(graph, f'insert Pet {{name: "of {name}"}}', branch=branch)
    graph.merge("trial")
    assert {name: row.get("nick") for name, row in people(graph).items()} == {"ann": "a", "bo": "b", "cy": None}
    assert contents(graph)["Pet"] == [{"name": "of ann"}, {"name": "of bo"}]
    assert graph.verify(deep=True).is_clean
    run(graph, 'update Person set {nick: "c"} where name = "cy"', branch="trial")
    run(graph, 'update Person set {nick: "d"} where name = "cy"')
    with pytest.raises(MergeConflicts) as conflicts:
        graph.merge("trial")
    [conflict] = conflicts.value.conflicts
    assert (conflict.id, conflict.property, conflict.source, conflict.target) == ("cy", "nick", "c", "d")


@pytest.mark.parametrize(("migrated", "written"), SIDES)
@pytest.mark.parametrize(
    ("demand", "statement", "kind", "id_"),
    [
        ("age: I32? @range(age, 0..9)", 'insert Person {name: "dee", age: 20}', "value_constraint_violation", "dee"),
        ("age: I32? @unique", 'update Person set {age: 2} where name = "ann"', "unique_violation", "bo"),
        ("age: I32", 'insert Person {name: "dee"}', "value_constraint_violation", "dee"),
    ],
    ids=["range", "unique", "required"],
)
def test_what_one_side_demands_of_the_rows_of_the_other_is_a_conflict(
    graph: omnigraph.Graph, migrated: str, written: str, demand: str, statement: str, kind: str, id_: str
) -> None:
    graph.apply_schema(changed(("age: I32?", demand)), branch=migrated)
    run(graph, statement, branch=written)
    heads = [graph.snapshot(branch).commit_id for branch in ("main", "trial")]
    with pytest.raises(MergeConflicts) as conflicts:
        graph.merge("trial")
    [conflict] = conflicts.value.conflicts
    assert (conflict.kind.value, conflict.id, conflict.property) == (kind, id_, "age")
    assert graph.merge_preview("trial").outcome is MergeOutcome.CONFLICTS
    assert [graph.snapshot(branch).commit_id for branch in ("main", "trial")] == heads
    graph.merge("trial", resolutions=[{"kind": kind, "value": 8}])
    assert people(graph)[id_]["age"] == 8
    assert graph.verify(deep=True).is_clean


@pytest.mark.parametrize(("dropping", "written"), SIDES)
def test_a_type_that_one_side_dropped(graph: omnigraph.Graph, dropping: str, written: str) -> None:
    graph.apply_schema(changed(("edge LivesIn: Person -> City\n", "")), branch=dropping)
    run(graph, 'insert Person {name: "dee"}', branch=written)
    other = graph.create_branch("other", written).name
    run(graph, 'insert LivesIn {from: "bo", to: "Rome"}', branch=other)
    merged = graph.merge("trial")
    assert "edge:LivesIn" not in graph.snapshot().counts()
    if dropping == "trial":
        assert {item.key: item.deleted for item in merged.tables} == {"edge:LivesIn": 1}
    with pytest.raises(SchemaConflict, match="dropped the type LivesIn"):
        graph.merge(other)
    # What was taken back is no change.
    run(graph, 'delete LivesIn where from = "bo"', branch=other)
    graph.merge(other)
    assert "edge:LivesIn" not in graph.snapshot().counts()


def test_schemas_that_cannot_be_merged_change_nothing(graph: omnigraph.Graph) -> None:
    graph.apply_schema(changed(("age: I32?", "age: I32? x: I32?")), branch="trial")
    graph.apply_schema(changed(("age: I32?", "age: I32? x: String?")))
    head = graph.snapshot().commit_id
    with pytest.raises(SchemaConflict, match=r"Person.x: added differently by both sides") as conflict:
        graph.merge("trial")
    assert conflict.value.facts["types"] == ["Person"]
    assert graph.snapshot().commit_id == head


@pytest.mark.parametrize(
    "rules",
    [
        {"policy": {"Human.years": "source"}},
        {"policy": {"Human": "source"}},
        {"resolutions": [{"type": "Human", "property": "years", "take": "source"}]},
        {"resolutions": [{"type": "Human", "property": "years", "expression": "$source"}]},
    ],
)
def test_rules_name_things_as_the_conflicts_do(graph: omnigraph.Graph, rules: dict[str, Any]) -> None:
    renamed = graph.apply_schema(RENAMED, branch="trial").commit
    run(graph, 'update Human set {years: 5} where name = "ann"', branch="trial")
    run(graph, 'update Person set {age: 6} where name = "ann"')
    [conflict] = graph.merge_preview("trial").conflicts
    assert (conflict.table, conflict.property) == ("node:Human", "years")
    with pytest.raises(UsageError, match="no type 'Person'"):
        graph.merge("trial", policy={"Person.age": "source"})
    graph.merge("trial", **rules)
    assert people(graph, type_name="Human")["ann"] == {"years": 5, "email": "a@x"}
    # And a revert, which may bring the old names back.
    assert renamed is not None
    graph.revert(renamed.id, policy={"Person.age": "target", "Human": "target"})
    assert people(graph)["ann"] == {"age": 5, "email": "a@x"}


def test_a_schema_change_is_reverted_with_what_it_did(graph: omnigraph.Graph) -> None:
    before = contents(graph)
    added = graph.apply_schema(changed(("age: I32?", "nick: String? years: I32? @rename_from(age)"))).commit
    assert added is not None
    run(graph, 'insert Person {name: "dee", years: 4, nick: "d"}')
    graph.revert(added.id)
    assert people(graph)["dee"] == {"age": 4}
    assert "nick" not in graph.catalog().nodes["Person"].properties
    run(graph, 'delete Person where name = "dee"')
    assert contents(graph) == before


@pytest.mark.parametrize("is_written", [False, True])
def test_a_dropped_property_comes_back_with_its_values(graph: omnigraph.Graph, is_written: bool) -> None:
    dropped = graph.apply_schema(changed(("age: I32?", ""))).commit
    assert dropped is not None
    if is_written:
        run(graph, 'update Person set {email: "new"} where name = "bo" insert Person {name: "dee"}')
    graph.revert(dropped.id)
    expected: dict[str, dict[str, Any]] = {
        "ann": {"age": 1, "email": "a@x"},
        "bo": {"age": 2, "email": "new" if is_written else "b@x"},
        "cy": {"age": 3},
    }
    assert people(graph) == (expected | {"dee": {}} if is_written else expected)
    assert graph.verify(deep=True).is_clean


def test_a_difference_shows_what_only_one_schema_has(graph: omnigraph.Graph) -> None:
    graph.apply_schema(changed(("age: I32?", "")), branch="trial")
    assert not graph.diff("main", "trial")
    shown = {change.id: change.changed for change in graph.diff("trial", "main").changes()}
    assert shown == {"ann": ("age",), "bo": ("age",), "cy": ("age",)}


def test_a_merge_that_renames_is_told_by_the_feed_under_both_names(graph: omnigraph.Graph) -> None:
    cursors = {name: graph.changes(type=name).cursor for name in ("Person", "Knows")}
    graph.apply_schema(RENAMED, branch="trial")
    run(graph, 'update Human set {years: 5, nick: "a"} where name = "ann" insert Pet {name: "rex"}', branch="trial")
    run(graph, 'update Person set {email: "x"} where name = "bo"')
    before = graph.snapshot()
    # A type that is dropped is told as deleted, if the other side has left it alone.
    graph.merge("trial")
    blocks = list(graph.changes(f"after:{before.commit_id}"))
    [changes] = [[(change.op.value, change.type_name, change.id) for change in block] for block in blocks]
    assert changes == [("update", "Human", "ann"), ("insert", "Pet", "rex"), ("delete", "LivesIn", "l1")]
    [update] = [change for change in blocks[0] if change.op.value == "update"]
    assert update.changed == ("nick", "years")
    for name in ("Person", "Human"):
        assert [change.id for change in graph.diff(before, "main", type=name).changes()] == ["ann"]
    assert [change.id for change in graph.changes(cursors["Person"], type="Person").changes()] == ["bo", "ann"]
    assert not list(graph.changes(cursors["Knows"], type="Knows").changes())


def test_the_newest_change_of_a_renamed_property_is_found(tmp_path: Path) -> None:
    graph = create(tmp_path, "node A { k: String @key p: I32? @merge(newest) }")
    graph.load([{"type": "A", "data": {"k": "a", "p": 1}}], "append")
    graph.create_branch("trial")
    run(graph, 'update A set {p: 2} where k = "a"', branch="trial")
    graph.apply_schema(
        'node B @rename_from("A") { k: String @key q: I32? @merge(newest) @rename_from(p) }', branch="trial"
    )
    run(graph, 'update A set {p: 3} where k = "a"')
    graph.merge("trial")
    assert contents(graph)["B"] == [{"k": "a", "q": 3}]
