"""Upserts, updates and edges with a key: what they keep, what they refuse, and what they do when they race."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import KeyConflictError, ViolationError
from omnigraph.write.load import bulk_plan
from omnigraph.write.load import plan as load
from tests.features.bulk.loading import through_disk
from tests.promises.protocol.graphs import contents, create, edge, person, reopen, run

SCHEMA = """
node Person { name: String @key
    age: I32?
    mood: String
    mail: String? @unique }
node Pair { a: String
    b: I32
    note: String?
    @key(a, b) }
edge Knows: Person -> Person @key(src, dst) { since: I32?  how: String? }
edge Met: Person -> Person { day: Date  place: String?  @key(src, dst, day) }
edge Likes: Person -> Person { much: I32? }
"""
SEED = [
    person("a", age=1, mood="calm", mail="a@x"),
    person("b", age=2, mood="glad"),
    {"type": "Pair", "data": {"a": "x", "b": 1, "note": "old"}},
    edge("Knows", "a", "b", since=1),
    edge("Likes", "a", "b", "l1", much=1),
]
Path_ = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = create(tmp_path, SCHEMA)
    made.load(SEED, "append")
    return made


@pytest.fixture(params=["memory", "disk"])
def loading(request: pytest.FixtureRequest, graph: omnigraph.Graph) -> Path_:
    """Every load goes through memory, or through disk."""
    return (lambda: through_disk(graph)) if request.param == "disk" else nullcontext


@contextmanager
def meanwhile(
    monkeypatch: pytest.MonkeyPatch, graph: omnigraph.Graph, other_write: Callable[[omnigraph.Graph], object]
) -> Iterator[None]:
    """Another handle writes once, after the next load was staged and before it is published."""
    pending = [other_write]

    def late(stage: Any) -> Any:
        def stage_then_let_the_other_write(*arguments: Any) -> Any:
            plan = stage(*arguments)
            if pending:
                pending.pop()(reopen(graph))
            return plan

        return stage_then_let_the_other_write

    with monkeypatch.context() as patch:
        patch.setattr(load, "stage_deltas", late(load.stage_deltas))
        patch.setattr(bulk_plan, "plan_writes", late(bulk_plan.plan_writes))
        yield
    assert not pending


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_loads_of_different_properties_of_one_entity_both_stand(
    graph: omnigraph.Graph, loading: Path_, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    theirs = [person("a", mail="new@x"), edge("Knows", "a", "b", how="well")]
    with loading(), meanwhile(monkeypatch, graph, lambda other: other.load(theirs)):
        loaded = graph.load([person("a", age=9), edge("Knows", "a", "b", since=9)], mode)
    assert (loaded.inserted, loaded.updated) == (0, 2)
    assert {"name": "a", "age": 9, "mood": "calm", "mail": "new@x"} in contents(graph)["Person"]
    assert contents(graph)["Knows"] == [{"from": "a", "to": "b", "since": 9, "how": "well"}]
    assert graph.verify().is_clean


def test_a_load_that_would_change_nothing_is_decided_again_when_overtaken(
    graph: omnigraph.Graph, loading: Path_, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        loading(),
        meanwhile(monkeypatch, graph, lambda other: run(other, 'update Person set {age: 7} where name = "a"')),
    ):
        loaded = graph.load([person("a", age=1)])
    assert loaded.updated == 1
    assert {"name": "a", "age": 1, "mood": "calm", "mail": "a@x"} in contents(graph)["Person"]


def test_an_update_of_an_entity_that_was_deleted_meanwhile_is_refused(
    graph: omnigraph.Graph, loading: Path_, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = meanwhile(monkeypatch, graph, lambda other: run(other, 'delete Person where name = "b"'))
    with loading(), late, pytest.raises(ViolationError, match="Person 'b' does not exist"):
        graph.load([person("b", age=9)], "update")


def test_an_upsert_fits_a_schema_that_was_extended_meanwhile(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extend(other: omnigraph.Graph) -> None:
        other.apply_schema(SCHEMA.replace("age: I32?", "age: I32?\n    zip: String?"))
        other.load([person("a", zip="1")])

    with meanwhile(monkeypatch, graph, extend):
        graph.load([person("a", age=9)])
    assert {"name": "a", "age": 9, "mood": "calm", "mail": "a@x", "zip": "1"} in contents(graph)["Person"]


REFUSED = {
    "a new entity without a required property": (
        "upsert",
        [person("c", age=1)],
        "<records>:1: missing required .*mood",
    ),
    "an explicit null of a required one": ("upsert", [person("a", mood=None)], "missing required property Person.mood"),
    "a missing entity": ("update", [person("a"), person("c", mood="x")], "<records>:2: Person 'c' does not exist"),
    "a key twice": ("upsert", [person("a", age=1), person("a", age=2)], "given twice"),
    "an edge key twice": ("upsert", [edge("Knows", "a", "b")] * 2, "given twice"),
    "an edge with another id": ("upsert", [edge("Knows", "a", "b", "k")], "differs from"),
    "ends that do not fit the id": ("upsert", [{"edge": "Knows", "from": "b", "data": {"id": '["a","b"]'}}], "differs"),
    "an edge without ends and id": ("upsert", [{"edge": "Likes", "data": {"much": 1}}], 'missing "from"'),
    "an unknown edge id": ("update", [{"edge": "Likes", "data": {"id": "l9", "much": 1}}], "Likes 'l9' does not exist"),
    "a member of the key that does not fit": (
        "upsert",
        [{"type": "Pair", "data": {"id": '["x","1"]', "b": 2}}],
        "differs",
    ),
    "a unique value of another entity": ("upsert", [person("b", mail="a@x")], "@unique violation"),
    "a dangling end": ("upsert", [{"edge": "Likes", "to": "z", "data": {"id": "l1"}}], "dst 'z' not found"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_cannot_be_completed_are_violations_with_a_place(
    graph: omnigraph.Graph, loading: Path_, case: str
) -> None:
    mode, records, message = REFUSED[case]
    before = contents(graph)
    with loading(), pytest.raises(ViolationError, match=message):
        graph.load(records, mode)
    assert contents(graph) == before


def test_an_entity_may_be_named_by_its_id_alone(graph: omnigraph.Graph, loading: Path_) -> None:
    with loading():
        graph.load([{"type": "Pair", "data": {"id": '["x","1"]', "note": "new"}}], "update")
        graph.load(pa.table({"id": ["l1"], "to": ["a"]}), "update", type_name="Likes")
        graph.load(pa.table({"id": ['["a","b"]'], "how": ["well"]}), type_name="Knows")
    assert contents(graph)["Pair"] == [{"a": "x", "b": 1, "note": "new"}]
    assert contents(graph)["Likes"] == [{"from": "a", "to": "a", "much": 1}]
    assert contents(graph)["Knows"] == [{"from": "a", "to": "b", "since": 1, "how": "well"}]


def test_a_keyed_edge_is_one_edge_however_it_is_written(graph: omnigraph.Graph, loading: Path_) -> None:
    with loading():
        graph.load(pa.table({"from": ["a", "b"], "to": ["b", "a"], "how": ["x", "y"]}), type_name="Knows")
        graph.load([edge("Met", "a", "b", day="2020-01-01"), edge("Met", "a", "b", day="2020-01-02", place="p")])
        graph.load([edge("Met", "a", "b", day="2020-01-02", place="q")])
    assert run(graph, 'insert Knows {from: "a", to: "b", since: 5}').affected_edges == 1
    assert run(graph, 'insert Knows {from: "a", to: "b", since: 5}').commit is None
    found = graph.query("query q() { match { $a: Person\n $a knows $b } return { count($b) as n } }").to_pylist()
    assert found == [{"n": 2}]
    assert [row.get("place") for row in contents(graph)["Met"]] == [None, "q"]
    assert '"id":"[\\"a\\",\\"b\\",\\"18262\\"]"' in b"".join(graph.export("main")).decode()


def test_branches_that_insert_the_same_keyed_edge_merge_its_properties(graph: omnigraph.Graph) -> None:
    graph.create_branch("side")
    graph.load([edge("Knows", "b", "a", since=3, how="well")])
    graph.load([edge("Knows", "b", "a", since=3)], branch="side")
    graph.load([edge("Knows", "a", "b", how="side")], branch="side")
    graph.load([edge("Knows", "a", "b", since=8)])
    assert graph.merge("side", policy="target").commit is not None
    assert {"from": "a", "to": "b", "since": 8, "how": "side"} in contents(graph)["Knows"]
    assert len(contents(graph)["Knows"]) == 2


def test_an_export_of_keyed_edges_loads_into_another_graph_and_changes_nothing_here(
    graph: omnigraph.Graph, tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"".join(graph.export("main")))
    other = omnigraph.create(tmp_path / "other", graph.schema_text(), durability="os")
    assert other.load(path).inserted == len(SEED)
    assert contents(other) == contents(graph)
    again = graph.load(path)
    assert (again.inserted, again.updated, again.unchanged, again.commit.tables) == (0, 0, len(SEED), ())


def test_the_key_of_an_edge_type_cannot_be_added_changed_or_removed(graph: omnigraph.Graph) -> None:
    for before, after in (
        ("@key(src, dst) { since", "{ since"),
        ("@key(src, dst) { since", "@key(src) { since"),
        ("edge Likes: Person -> Person {", "edge Likes: Person -> Person @key(src, dst) {"),
    ):
        plan = graph.plan_schema(SCHEMA.replace(before, after))
        assert not plan.supported, after


def test_loading_edges_without_identity_again_is_remarked(graph: omnigraph.Graph) -> None:
    edges = [edge("Likes", "a", "b", much=1), edge("Likes", "b", "a")]
    for mode, remarks in (("append", 1), ("upsert", 2), ("merge", 2)):
        [remark] = graph.load(edges, mode).remarks
        assert remark.startswith(f"{remarks} edge"), remark
    assert graph.load([edge("Likes", "b", "a", "l1")]).remarks == ()
    assert graph.load([edge("Knows", "b", "a")]).remarks == ()


def test_an_append_still_refuses_what_exists(graph: omnigraph.Graph, loading: Path_) -> None:
    with loading(), pytest.raises(KeyConflictError, match="upsert"):
        graph.load([edge("Knows", "a", "b")], "append")


def test_counts_of_a_mutation_agree_with_its_preview_commit_and_diff(graph: omnigraph.Graph) -> None:
    for statements, nodes, edges in (
        ('update Person set {age: 1} where name = "a"', 0, 0),
        ("update Person set {age: 3} where age <= 3", 2, 0),
        ('insert Person {name: "a", age: 3, mood: "calm", mail: "a@x"}', 0, 0),
        ('insert Person {name: "c", mood: "x"} delete Person where name = "c"', 0, 0),
        ('insert Knows {from: "b", to: "a"} insert Likes {from: "b", to: "a"}', 0, 2),
        ('delete Person where name = "b"', 1, 4),
    ):
        text, head = f"query q() {{ {statements} }}", graph.snapshot().commit_id
        preview, result = graph.mutate_preview(text), graph.mutate(text)
        assert (result.affected_nodes, result.affected_edges) == (nodes, edges), statements
        assert (preview.total, len(graph.diff(head))) == (nodes + edges, nodes + edges), statements
        changes = [] if result.commit is None else result.commit.tables
        assert sum(item.inserted + item.updated + item.deleted for item in changes) == nodes + edges


def test_verify_finds_an_id_that_its_key_does_not_give(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert graph.verify().is_clean
    with monkeypatch.context() as patch:
        patch.setattr("omnigraph.write.mutate.statements.key_id", lambda texts: "other")
        run(graph, 'insert Knows {from: "b", to: "a"}')
    [problem] = graph.verify().problems
    assert problem.what == "has 1 ids of Knows that differ from their key, such as 'other'"
