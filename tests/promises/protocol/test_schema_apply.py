"""Changing the schema of a branch: what becomes of the data, of older commits, and of writers on the way."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.commit import CommitKind
from omnigraph.errors import CompileError, MigrationRefused, PreconditionFailed, ReadSetConflict, ViolationError
from omnigraph.manifest.publisher import Publisher
from omnigraph.manifest.queue import Door
from omnigraph.schema.print import to_pg
from omnigraph.storage.stage import staging
from omnigraph.wire.schemas import schema_result_json
from tests.promises.protocol.graphs import contents, create, edge, insert, names, person, reopen, run
from tests.support.tuning import retuned, tuned

BASE = """
node Person { name: String @key age: I32? email: String? @unique mood: enum(calm, angry)? }
node City { title: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""
PEOPLE = [person("ann", age=1, email="a@x"), person("bo", age=2, email="b@x", mood="calm"), person("cy")]
DATA = [
    *PEOPLE,
    {"type": "City", "data": {"title": "Rome"}},
    edge("Knows", "ann", "bo", "k1", since=3),
    edge("LivesIn", "ann", "Rome", "l1"),
]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = create(tmp_path, BASE)
    made.load(DATA, "append")
    return made


def changed(*replacements: tuple[str, str]) -> str:
    text = BASE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


NICK = changed(("age: I32?", "age: I32? nick: String?"))


@contextmanager
def meanwhile(graph: omnigraph.Graph, other_write: Callable[[omnigraph.Graph], object]) -> Iterator[None]:
    """Another handle writes once, after the next write of this one was staged and before it is published."""
    publish, pending, ours = Publisher.publish, [other_write], graph._context.publisher

    def late(self: Publisher, *arguments: Any) -> Any:
        if self is ours and pending:
            pending.pop()(reopen(graph))
        return publish(self, *arguments)

    with patch.object(Publisher, "publish", late):
        yield
    assert not pending


# --- steps -----------------------------------------------------------------------------------------------


def test_a_new_property_is_null_and_writes_no_data(graph: omnigraph.Graph) -> None:
    before = graph.snapshot()
    result = graph.apply_schema(NICK, actor="me", message="nicknames")
    assert result.commit is not None
    assert (result.commit.kind, result.commit.actor, result.commit.message) == (CommitKind.SCHEMA, "me", "nicknames")
    assert [change.key for change in result.commit.tables] == ["node:Person"]
    assert not [record.path for record in result.commit.files if "/data/" in record.path]
    assert contents(graph) == contents(before)
    run(graph, 'update Person set {nick: "annie"} where name = "ann" insert Person {name: "dee", nick: "d"}')
    nicks = {row["name"]: row.get("nick") for row in contents(reopen(graph))["Person"]}
    assert nicks == {"ann": "annie", "bo": None, "cy": None, "dee": "d"}
    assert graph.verify(deep=True).is_clean


def test_a_renamed_type_and_property_keep_their_data_and_their_table(graph: omnigraph.Graph) -> None:
    pin = graph.snapshot().state.tables["node:Person"]
    text = changed(
        ("node Person {", 'node Human @rename_from("Person") {'),
        ("age: I32?", "years: I32? @rename_from(age)"),
        ("Person ->", "Human ->"),
        ("-> Person", "-> Human"),
    )
    graph.apply_schema(text)
    renamed = graph.snapshot().state.tables["node:Human"]
    assert (renamed.location, renamed.table_version) == (pin.location, pin.table_version + 1)
    assert "node:Person" not in graph.snapshot().counts()
    assert [row.get("years") for row in contents(graph)["Human"]] == [1, 2, None]
    graph.load([{"type": "Human", "data": {"name": "bo", "years": 7}}, edge("Knows", "bo", "cy", "k2")], "merge")
    query = "query q() { match { $p: Human $p knows $q } return { $p.years, $q.name } order { $q.name asc } }"
    assert reopen(graph).query(query).to_pylist() == [
        {"p.years": 1, "q.name": "bo"},
        {"p.years": 7, "q.name": "cy"},
    ]
    # The hints may stay in the text.
    assert graph.apply_schema(text).commit is None


def test_two_types_may_swap_their_names_by_way_of_a_third(graph: omnigraph.Graph) -> None:
    for old, new in (("Person", "Other"), ("City", "Person"), ("Other", "City")):
        text = to_pg(graph.catalog().schema).replace(f"node {old} {{", f'node {new} @rename_from("{old}") {{')
        for end in (f": {old} ->", f"-> {old}"):
            text = text.replace(end, end.replace(old, new))
        graph.apply_schema(text)
    assert contents(graph)["Person"] == [{"title": "Rome"}]
    assert len(contents(graph)["City"]) == 3


def test_a_dropped_property_is_gone_and_its_name_starts_anew(graph: omnigraph.Graph) -> None:
    text = changed(("age: I32? ", ""))
    graph.apply_schema(text)
    assert all("age" not in row for row in contents(graph)["Person"])
    graph.apply_schema(BASE.replace("age: I32?", "age: String?"))
    run(graph, 'insert Person {name: "dee", age: "old"}')
    assert [row.get("age") for row in contents(reopen(graph))["Person"]] == ["old", None, None, None]
    graph.load([person(name, age="young") for name in ("ann", "bo")], "overwrite")
    assert contents(reopen(graph))["Person"] == [{"name": name, "age": "young"} for name in ("ann", "bo")]


def test_types_come_with_empty_tables_and_go_with_all_their_entities(graph: omnigraph.Graph) -> None:
    head = graph.snapshot()
    text = changed(("edge LivesIn: Person -> City\n", "node Pet { name: String @key }\nedge Owns: Person -> Pet\n"))
    result = graph.apply_schema(text)
    assert result.commit is not None
    dropped = next(change for change in result.commit.tables if change.key == "edge:LivesIn")
    assert (dropped.after, dropped.deleted) == (None, 1)
    graph.load([{"type": "Pet", "data": {"name": "rex"}}, edge("Owns", "ann", "rex")], "append")
    assert graph.snapshot().counts() == {
        "edge:Knows": 1,
        "edge:Owns": 1,
        "node:City": 1,
        "node:Person": 3,
        "node:Pet": 1,
    }
    graph.apply_schema(BASE)
    assert graph.snapshot().counts()["edge:LivesIn"] == 0
    assert head.counts()["edge:LivesIn"] == 1


def test_an_enum_takes_more_values_and_nothing_is_written(graph: omnigraph.Graph) -> None:
    result = graph.apply_schema(changed(("enum(calm, angry)", "enum(calm, angry, glad)")))
    assert result.commit is not None
    assert result.commit.tables == ()
    assert {record.path.partition("/")[0] for record in result.commit.files} == {"schemas"}
    run(graph, 'update Person set {mood: "glad"} where name = "cy"')


def test_an_empty_graph_takes_any_columns(tmp_path: Path) -> None:
    graph = create(tmp_path, "node A { x: I32? }")
    graph.apply_schema("node A { y: Vector(2)? z: Blob? t: [String]? }")
    graph.load([{"type": "A", "data": {"id": "a", "y": [1.0, 2.0], "t": ["q"]}}], "append")
    assert contents(reopen(graph))["A"] == [{"y": [1.0, 2.0], "t": ["q"]}]


DEMANDS = {
    "tighten": (changed(("age: I32?", "age: I32")), "required/node:Person/age", 1, {"cy"}),
    "required": (changed(("age: I32?", "age: I32? nick: String")), "required/node:Person/nick", 3, {"ann", "bo", "cy"}),
    "range": (changed(("age: I32?", "age: I32? @range(age, 2..)")), "range/node:Person/age", 1, {"ann"}),
    "check": (changed(("age: I32?", 'age: I32? @check(email, "^b")')), "check/node:Person/email", 1, {"ann"}),
    "enum": (changed(("calm, angry", "angry")), "enum/node:Person/mood", 1, {"bo"}),
    "renamed": (
        changed(("age: I32?", "years: I32? @rename_from(age) @range(years, 2..)")),
        "range/node:Person/years",
        1,
        {"ann"},
    ),
    "unique": (changed(("age: I32?", "age: I32? @unique")), "unique/node:Person/age", 1, {"dee"}),
    "card": (changed(("Person -> City", "Person -> City @card(2..)")), "cardinality/edge:LivesIn/src", 1, {None}),
    "card max": (changed(("-> Person", "-> Person @card(0..1)")), "cardinality/edge:Knows/src", 1, {None}),
}


@pytest.mark.parametrize("name", DEMANDS)
def test_entities_that_do_not_comply_are_counted_and_named_and_nothing_is_changed(
    graph: omnigraph.Graph, name: str
) -> None:
    text, kind, count, ids = DEMANDS[name]
    if name == "unique":
        graph.load([person("dee", age=2)], "append")
    if name == "card max":
        graph.load([edge("Knows", "ann", "cy")], "append")
    head = graph.snapshot().commit_id
    with pytest.raises(ViolationError) as error:
        graph.apply_schema(text)
    assert error.value.counts == {kind: count}
    assert {sample.entity_id for sample in error.value.samples} == ids
    assert graph.snapshot().commit_id == head


def test_entities_that_comply_are_held_to_it_from_then_on(graph: omnigraph.Graph) -> None:
    run(graph, 'update Person set {age: 5, mood: "calm"} where name = "cy"')
    text = changed(
        ("age: I32?", "age: I32 @range(age, 1..9)"), ("calm, angry", "calm"), ("-> City", "-> City @card(0..1)")
    )
    graph.apply_schema(text)
    for statement in (
        'insert Person {name: "dee"}',
        'insert Person {name: "dee", age: 10}',
        'insert Person {name: "dee", age: 1, mood: "angry"}',
        'insert LivesIn {from: "ann", to: "Rome"}',
    ):
        with pytest.raises((ViolationError, CompileError)):
            run(graph, statement)
    run(graph, 'insert Person {name: "dee", age: 3}')
    # And released from it again.
    graph.apply_schema(BASE)
    run(graph, 'insert Person {name: "eve", mood: "angry"}')
    assert names(graph) == ["ann", "bo", "cy", "dee", "eve"]


def test_rows_that_come_before_the_commit_are_looked_at_too(graph: omnigraph.Graph) -> None:
    text = changed(("age: I32?", "age: I32? @range(age, 0..9)"))
    late = meanwhile(graph, lambda other: run(other, 'insert Person {name: "old", age: 80}'))
    with late, pytest.raises(ViolationError, match="80 > max 9"):
        graph.apply_schema(text)
    assert "old" in names(graph)


# --- older commits, and no change ------------------------------------------------------------------------


def test_older_commits_keep_their_schema_and_their_rows(graph: omnigraph.Graph) -> None:
    before, text, seen = graph.snapshot().commit_id, graph.schema_text(), contents(graph)
    graph.apply_schema("node Person { name: String @key }")
    assert contents(graph) == {"Person": [{"name": "ann"}, {"name": "bo"}, {"name": "cy"}]}
    for handle in (graph, reopen(graph)):
        old = handle.snapshot(at=before)
        assert (contents(old), old.schema_text()) == (seen, text)
        query = 'query q() { match { $p: Person { email: "b@x" } } return { $p.age } }'
        assert handle.query(query, at=before).to_pylist() == [{"p.age": 2}]


def test_a_difference_across_schemas_is_told_under_the_newer_one(graph: omnigraph.Graph) -> None:
    before = graph.snapshot()
    graph.apply_schema(changed(("age: I32?", "years: I32? @rename_from(age) nick: String?"), ("since: I32?", "")))
    assert not graph.diff(before, "main")
    run(graph, 'update Person set {nick: "b"} where name = "bo"')
    [change] = graph.diff(before, "main").changes()
    assert (change.id, change.changed) == ("bo", ("nick",))
    page = graph.changes("beginning")
    assert [len(block) for block in page.blocks] == [len(DATA), 0, 1]
    back = graph.diff("main", before)
    assert [(item.id, item.changed) for item in back.changes()] == [("k1", ("since",))]


def test_a_text_that_means_the_same_makes_no_commit(graph: omnigraph.Graph) -> None:
    head = graph.snapshot().commit_id
    result = graph.apply_schema("// the same\n" + BASE)
    assert (result.applied, result.commit, schema_result_json(result)["applied"]) == (False, None, False)
    assert graph.snapshot().commit_id == head
    assert "no commit" in repr(result)


def test_a_schema_can_be_changed_on_a_branch_alone(graph: omnigraph.Graph) -> None:
    graph.create_branch("trial")
    graph.apply_schema(NICK, branch="trial")
    run(graph, 'insert Person {name: "dee", nick: "d"}', branch="trial")
    assert "nick" in graph.catalog("trial").nodes["Person"].properties
    assert "nick" not in graph.catalog().nodes["Person"].properties
    insert(graph, "main only")
    assert names(graph) == ["ann", "bo", "cy", "main only"]


def test_a_plan_shows_what_would_be_done_and_does_nothing(graph: omnigraph.Graph, tmp_path: Path) -> None:
    head = graph.snapshot().commit_id
    path = tmp_path / "new.pg"
    path.write_text(NICK)
    assert graph.plan_schema(path).render() == "- add property nick: String? to node Person"
    assert graph.snapshot().commit_id == head
    planned = graph.plan_schema(path)
    assert graph.apply_schema(path).plan == planned


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("node Person {", CompileError, "expected"),
        (changed(("age: I32?", "age: I64?")), MigrationRefused, r"OG-MF-106.*changing the type of property age"),
        (changed(("String @key age", "String age")), MigrationRefused, "@key"),
        (changed(("age: I32?", "years: I32? @rename_from(ages)")), MigrationRefused, "no property 'ages'"),
    ],
    ids=["syntax", "type", "key", "hint"],
)
def test_what_cannot_be_done_changes_nothing(
    graph: omnigraph.Graph, text: str, error: type[Exception], message: str
) -> None:
    head, files = graph.snapshot().commit_id, sorted(Path(graph.uri).rglob("*"))
    with pytest.raises(error, match=message):
        graph.apply_schema(text)
    assert (graph.snapshot().commit_id, sorted(Path(graph.uri).rglob("*"))) == (head, files)


def test_an_idempotency_key_and_a_precondition_hold_for_schemas_too(graph: omnigraph.Graph) -> None:
    head = graph.snapshot().commit_id
    first = graph.apply_schema(NICK, idempotency_key="k")
    again = graph.apply_schema(NICK, idempotency_key="k")
    assert again.repeated
    assert first.commit == again.commit
    with pytest.raises(PreconditionFailed):
        graph.apply_schema(BASE, if_commit=head)


def test_indexes_of_columns_that_stay_go_on_answering(graph: omnigraph.Graph) -> None:
    indexed = changed(("@unique", "@unique @index"))
    graph.apply_schema(indexed)
    with retuned(graph, index_rows_min=0):
        assert graph.optimize().commits
        graph.apply_schema(indexed.replace("email: String?", "mail: String? @rename_from(email)"))
        assert not graph.optimize().commits
    query = 'query q() { match { $p: Person { mail: "b@x" } } return { $p.name } }'
    assert graph.query(query).to_pylist() == [{"p.name": "bo"}]


# --- races -----------------------------------------------------------------------------------------------


def test_a_schema_change_goes_after_the_rows_that_were_faster(graph: omnigraph.Graph) -> None:
    with meanwhile(graph, lambda other: insert(other, "dee")):
        graph.apply_schema(NICK)
    assert names(graph) == ["ann", "bo", "cy", "dee"]
    run(graph, 'update Person set {nick: "d"} where name = "dee"')
    assert graph.verify(deep=True).is_clean


def test_a_type_that_others_write_to_is_not_dropped_under_them(graph: omnigraph.Graph) -> None:
    text = changed(("edge LivesIn: Person -> City\n", ""))
    with (
        meanwhile(graph, lambda other: other.load([edge("LivesIn", "bo", "Rome")], "append")),
        pytest.raises(ReadSetConflict) as conflict,
    ):
        graph.apply_schema(text)
    assert conflict.value.facts["member"] == "edge:LivesIn"
    assert graph.snapshot().counts()["edge:LivesIn"] == 2


def test_of_two_schema_changes_the_second_is_refused(graph: omnigraph.Graph) -> None:
    with (
        meanwhile(graph, lambda other: other.apply_schema(NICK)),
        pytest.raises(ReadSetConflict, match="schema of main changed") as conflict,
    ):
        graph.apply_schema(changed(("title: String @key", "title: String @key size: I64?")))
    assert conflict.value.facts["member"] == "schema"
    assert graph.schema_text() == NICK


def test_a_schema_change_starts_from_the_newest_schema(graph: omnigraph.Graph) -> None:
    insert(graph, "dee")
    reopen(graph).apply_schema(NICK)
    assert graph.apply_schema(NICK).commit is None


@pytest.mark.parametrize(
    "statement",
    ['insert Person {name: "dee"}', 'update Person set {age: 9} where name = "ann"', 'delete Person where name = "cy"'],
)
def test_a_mutation_that_still_fits_goes_after_the_schema_change(graph: omnigraph.Graph, statement: str) -> None:
    with meanwhile(graph, lambda other: other.apply_schema(NICK)):
        run(graph, statement)
    expected = create(Path(graph.uri).parent / "same", BASE)
    expected.load(DATA, "append")
    run(expected, statement)
    assert contents(graph) == contents(expected)
    assert "nick" in graph.catalog().nodes["Person"].properties


@pytest.mark.parametrize(
    "statement", ['insert Person {name: "dee", age: 4}', 'update Person set {age: 9} where name = "ann"']
)
def test_a_mutation_that_no_longer_fits_is_a_conflict(graph: omnigraph.Graph, statement: str) -> None:
    with (
        meanwhile(graph, lambda other: other.apply_schema(changed(("age: I32?", "")))),
        pytest.raises(ReadSetConflict, match=r"schema of main changed.*age") as conflict,
    ):
        run(graph, statement)
    assert conflict.value.facts["member"] == "schema"
    assert names(graph) == ["ann", "bo", "cy"]


@pytest.mark.parametrize("rows_max", [50_000, 0], ids=["memory", "disk"])
def test_a_load_whose_types_did_not_change_goes_after_the_schema_change(graph: omnigraph.Graph, rows_max: int) -> None:
    graph = tuned(graph, buffered_rows_max=rows_max)
    other = changed(("title: String @key", "title: String @key size: I64?"))
    with meanwhile(graph, lambda handle: handle.apply_schema(other)):
        graph.load([person("dee", age=4)], "merge")
    assert names(graph) == ["ann", "bo", "cy", "dee"]


def test_loaded_rows_take_over_what_the_schema_change_made_of_their_type(graph: omnigraph.Graph) -> None:
    text = changed(("age: I32?", "years: I32? @rename_from(age) nick: String?"))
    with meanwhile(graph, lambda other: other.apply_schema(text)):
        graph.load([person("ann", age=9), person("dee", age=4)], "merge")
    assert {row["name"]: row.get("years") for row in contents(graph)["Person"]} == {
        "ann": 9,
        "bo": 2,
        "cy": None,
        "dee": 4,
    }


@pytest.mark.parametrize("rows_max", [50_000, 0], ids=["memory", "disk"])
def test_a_load_that_no_longer_fits_is_a_conflict(graph: omnigraph.Graph, rows_max: int) -> None:
    graph = tuned(graph, buffered_rows_max=rows_max)
    with (
        meanwhile(graph, lambda other: other.apply_schema(changed(("age: I32?", "")))),
        pytest.raises(ReadSetConflict, match=r"schema changed.*Person"),
    ):
        graph.load([person("dee", age=4)], "merge")
    assert names(graph) == ["ann", "bo", "cy"]


def test_rows_on_disk_are_never_put_under_other_columns(graph: omnigraph.Graph) -> None:
    store, pin = graph._store, graph.snapshot().state.tables["node:City"]
    written = staging.write_rows(
        store, store.open(pin.location, pin.lance_version), pin.location, pa.table({"id": ["x"], "title": ["x"]})
    )
    graph.apply_schema(changed(("title: String @key", "name: String @key @rename_from(title)")))
    pin = graph.snapshot().state.tables["node:City"]
    with pytest.raises(ReadSetConflict, match="columns of nodes/"):
        staging.stage_delta(store, store.open(pin.location, pin.lance_version), pin.location, [written], [])


def test_a_load_by_a_schema_that_is_no_longer_the_newest_is_told_to_try_again(graph: omnigraph.Graph) -> None:
    reopen(graph).apply_schema(NICK)
    with pytest.raises(ReadSetConflict, match="schema of main changed"):
        graph.load([person("dee", nick="d")], "merge")
    graph.load([person("dee", nick="d")], "merge")
    assert contents(graph)["Person"][-1] == {"name": "dee", "nick": "d"}


def test_a_commit_that_shares_its_swap_with_a_schema_change_can_be_gone_back_to(graph: omnigraph.Graph) -> None:
    """Both are one version of the manifest, and what lies between them is found by taking the second one back."""
    publish, threads = Publisher._publish_batch, list[threading.Thread]()
    door = graph._context.publisher._door(graph.snapshot().state.incarnation)

    def together(self: Publisher, queue: Door, incarnation: str, batch: Any, own: Any) -> None:
        if not threads:
            threads.append(threading.Thread(target=graph.apply_schema, args=(text,)))
            threads[0].start()
            while not door.waiting:
                time.sleep(0)
            batch.append(door.waiting.popleft())
        publish(self, queue, incarnation, batch, own)

    text = changed(("node Person {", 'node Human @rename_from("Person") {'), ("Person ->", "Human ->"))
    text = text.replace("-> Person", "-> Human")
    with patch.object(Publisher, "_publish_batch", together):
        made = insert(graph, "dee").commit
    threads[0].join()
    assert graph.snapshot().counts()["node:Human"] == 4
    assert graph.snapshot().state.commits[-1].manifest.version == made.manifest.version
    for handle in (graph, reopen(graph)):
        assert names(handle.snapshot(at=made.id)) == ["ann", "bo", "cy", "dee"]
