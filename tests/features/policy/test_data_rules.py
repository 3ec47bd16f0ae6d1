"""Rules about data: types, properties and entities outside of an actor's scope do not exist for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import CompileError, NotFoundError, PolicyDenied, PolicyInvalid, UsageError
from omnigraph.namespace import OmnigraphNamespace
from tests.features.policy.teams import BUNDLE, LINES, ROWS, SCHEMA, bundle, rows


def test_queries_find_only_entities_inside_the_scope(ann: Graph) -> None:
    assert rows(ann, LINES) == [("ann",), ("bob",), ("dan",)]
    assert rows(ann, 'match { $p: Person { name: "cleo" } } return { $p.name }') == []
    assert rows(ann, "match { $p: Person } return { count($p) as n, max($p.age) as m }") == [(3, 60)]


@pytest.mark.parametrize("times", [1, 3])
def test_a_hop_needs_a_visible_edge_and_both_of_its_ends(ann: Graph, times: int) -> None:
    for _ in range(times):
        assert sorted(rows(ann, "match { $p: Person $p knows $q } return { $p.name, $q.name }")) == [
            ("ann", "bob"),
            ("dan", "bob"),
        ]
        found = rows(ann, 'match { $p: Person { name: "ann" } $p $e: knows $q } return { $q.name, $e.since }')
        assert found == [("bob", 1)]
        assert rows(ann, "match { $p: Person $p knows $q } return { count($q) as n }") == [(2,)]


def test_no_path_leads_through_a_hidden_node_or_edge(ann: Graph, plain: Graph) -> None:
    walk = 'match { $p: Person { name: "ann" } $p knows{1,4} $q } return { $q.name } order { $q.name }'
    path = (
        'match { $a: Person { name: "bob" } $b: Person { name: "dan" } $a $path: shortest knows $b } '
        "return { $path.length }"
    )
    # For the owner bob reaches dan by way of cleo; ann -> dan is an edge that ann may not see.
    assert rows(plain, walk) == [("bob",), ("cleo",), ("dan",)]
    assert rows(plain, path) == [(2,)]
    assert rows(ann, walk) == [("bob",)]
    assert rows(ann, path) == []
    assert rows(ann, "match { $p: Person not { $p knows{1,4} $q } } return { $p.name }") == [("bob",)]


def test_types_and_properties_outside_of_the_scope_do_not_exist(ann: Graph, tmp_path: Path) -> None:
    bare = omnigraph.create(
        tmp_path / "bare.omni",
        "node Person { name: String @key team: String? age: I32? photo: Blob? bio: String? } "
        "edge Knows: Person -> Person { since: I32? }",
    )
    for text in (
        "match { $c: City } return { $c.name }",
        "match { $p: Person $p livesIn $c } return { $p.name }",
        "match { $p: Person } return { $p.salary }",
        "match { $p: Person $p.salary > 3 } return { $p.name }",
        "match { $p: Persn } return { $p.salry }",
    ):
        with pytest.raises(CompileError) as hidden:
            rows(ann, text)
        with pytest.raises(CompileError) as missing:
            rows(bare, text)
        assert str(hidden.value) == str(missing.value)
    assert set(ann.catalog().nodes) == {"Person"}
    assert "salary" not in ann.catalog().nodes["Person"].properties
    assert set(ann.catalog().edges) == {"Knows"}


def test_an_actor_whom_the_rules_permit_everything_has_no_scope(ann: Graph, tmp_path: Path) -> None:
    root = omnigraph.open(ann.uri, policy=tmp_path / "policy" / "policy.yaml", actor="root")
    assert len(rows(root, LINES)) == 5
    assert root.counts()["Person"] == 5
    assert rows(root, 'match { $p: Person { name: "ann" } } return { $p.salary }') == [(30390,)]


def test_without_a_rule_that_permits_it_nothing_is_visible(ann: Graph, tmp_path: Path) -> None:
    zoe = omnigraph.open(ann.uri, policy=tmp_path / "policy" / "policy.yaml", actor="zoe")
    with pytest.raises(CompileError, match="unknown node type `Person`"):
        rows(zoe, LINES)
    # bob is one of the staff, but has no team.
    bob = omnigraph.open(ann.uri, policy=tmp_path / "policy" / "policy.yaml", actor="bob")
    with pytest.raises(CompileError, match="unknown node type `Person`"):
        rows(bob, LINES)


def test_text_ranking_and_search_show_only_entities_inside_the_scope(ann: Graph) -> None:
    ranked = 'match { $p: Person } return { $p.name } order { bm25($p.bio, "likes") desc } limit 10'
    assert sorted(rows(ann, ranked)) == [("ann",), ("bob",), ("dan",)]
    assert sorted(rows(ann, 'match { $p: Person search($p.bio, "likes") } return { $p.name }')) == [
        ("ann",),
        ("bob",),
        ("dan",),
    ]


def test_an_explanation_tells_nothing_about_the_rules_or_the_tables(ann: Graph) -> None:
    text = str(ann.explain(f"query q() {{ {LINES} }}"))
    assert "Scan $p: Person reads (name)" in text
    assert "team" not in text
    assert "rows" not in text
    with pytest.raises(PolicyDenied, match="stats cannot apply the data rules"):
        rows(ann, LINES, stats=True)
    with pytest.raises(UsageError, match="the rows name no nodes"):
        ann.query("query q() { match { $p: Person } return { $p } }").draw()


def test_entity_views_are_inside_the_scope(ann: Graph) -> None:
    people = ann.nodes("Person")
    assert sorted(row["id"] for row in people.select("id")) == ["ann", "bob", "dan"]
    assert len(people) == 3
    assert len(people.where("age > 35")) == 2
    assert "salary" not in people.columns
    assert "3" in str(ann.nodes())
    assert [(row["src"], row["dst"]) for row in ann.edges("Knows")] == [("ann", "bob"), ("dan", "bob")]
    with pytest.raises(NotFoundError, match="there is no node type 'City'"):
        ann.nodes("City")
    with pytest.raises(NotFoundError, match="no column 'salary'"):
        people.select("salary")
    with pytest.raises(CompileError, match="salary"):
        people.where("salary > 3")


def test_a_blob_of_a_hidden_entity_is_not_found(ann: Graph, plain: Graph) -> None:
    assert ann.read_blob("Person", "bob", "photo").read()
    assert plain.read_blob("Person", "cleo", "photo").read()
    with pytest.raises(NotFoundError) as hidden:
        ann.read_blob("Person", "cleo", "photo")
    with pytest.raises(NotFoundError) as missing:
        ann.read_blob("Person", "clea", "photo")
    assert hidden.value.message.replace("cleo", "clea") == missing.value.message
    with pytest.raises(NotFoundError, match="there is no type 'City'"):
        ann.read_blob("City", "Rome", "photo")


def test_writes_need_the_image_before_and_the_image_after(ann: Graph, plain: Graph) -> None:
    def run(text: str) -> tuple[int, int]:
        done = ann.mutate(f"query q() {{ {text} }}")
        return done.affected_nodes, done.affected_edges

    assert run('update Person set {age: 31} where name = "ann"') == (1, 0)
    assert run("update Person set {age: 32} where age > 0") == (3, 0)
    assert run('insert Person {name: "flo", team: "red"}') == (1, 0)
    assert run('insert Knows {from: "ann", to: "flo"}') == (0, 1)
    # Hidden entities are not found; hidden names do not exist.
    assert run('update Person set {age: 1} where name = "cleo"') == (0, 0)
    assert run('delete Person where name = "cleo"') == (0, 0)
    assert run("delete Knows where since = 2") == (0, 0)
    with pytest.raises(CompileError, match="no property `salary`"):
        run('update Person set {salary: 1} where name = "ann"')
    head = plain.snapshot().commit_id
    for text in (
        'update Person set {team: "blue"} where name = "ann"',
        'insert Person {name: "gus", team: "blue"}',
        'insert Person {name: "cleo", team: "red"}',
        'insert Knows {from: "ann", to: "cleo"}',
        'insert Knows {from: "ann", to: "bob", since: 77}',
        # One entity that may not be changed refuses all.
        'insert Person {name: "hal", team: "red"} insert Person {name: "ian", team: "blue"}',
    ):
        with pytest.raises(PolicyDenied, match="the data rules do not allow the change"):
            run(text)
        with pytest.raises(PolicyDenied, match="the data rules do not allow the change"):
            ann.mutate_preview(f"query q() {{ {text} }}")
    assert plain.snapshot().commit_id == head


def test_loads_need_the_image_before_and_the_image_after(ann: Graph, plain: Graph, tmp_path: Path) -> None:
    assert ann.load({"Person": [{"name": "ann", "team": "red", "age": 1}]}, "merge").total == 1
    head = plain.snapshot().commit_id
    for data, mode in (
        ([{"name": "gus", "team": "blue"}], "merge"),
        ([{"name": "cleo", "team": "red"}], "merge"),
        ([{"name": "gus", "team": "red"}], "overwrite"),
        ([{"name": "gus", "team": "red"}, {"name": "hal"}], "append"),
    ):
        with pytest.raises(PolicyDenied, match="the data rules do not allow the change"):
            ann.load({"Person": data}, mode)
        with pytest.raises(PolicyDenied, match="the data rules do not allow the change"):
            ann.load_preview({"Person": data}, mode)
    with pytest.raises(PolicyDenied, match="a load through disk cannot apply the data rules"):
        ann.load({"Person": [{"name": "gus", "team": "red"}]}, "merge", reject_to=tmp_path / "rejected.jsonl")
    with pytest.raises(PolicyDenied, match="the data rules do not allow the change of some City"):
        ann.load({"City": [{"name": "Oslo"}]}, "merge")
    assert plain.snapshot().commit_id == head


def test_a_new_branch_must_not_show_more_than_the_old_one(ann: Graph) -> None:
    assert ann.create_branch("mine").name == "mine"
    assert rows(ann, LINES, branch="mine") == [("ann",), ("bob",), ("dan",)]
    for make in (
        lambda: ann.create_branch("free"),
        lambda: ann.load({"Person": [{"name": "x", "team": "red"}]}, "merge", branch="free", base="main"),
    ):
        with pytest.raises(PolicyDenied, match="the data rules of the two branches differ"):
            make()


def test_a_diff_shows_the_images_that_are_visible(ann: Graph, plain: Graph) -> None:
    before = plain.snapshot().commit_id
    run = plain.mutate
    run('query q() { update Person set {team: "blue"} where name = "dan" }')
    run('query q() { update Person set {team: "red"} where name = "cleo" }')
    run('query q() { update Person set {salary: 7} where name = "ann" }')
    run('query q() { update Person set {age: 41, salary: 8} where name = "bob" }')
    run('query q() { update Person set {age: 71} where name = "eve" }')
    run('query q() { insert City {name: "Oslo"} insert Knows {from: "eve", to: "ann"} }')
    diff = ann.diff(before, "main")
    found = {change.id: (change.op.value, change.changed) for change in diff.changes()}
    assert found == {"dan": ("delete", ()), "cleo": ("insert", ()), "bob": ("update", ("age",))}
    assert set(diff.counts) == {"node:Person"}
    images = [image for change in diff.changes() for image in (change.before, change.after) if image is not None]
    assert images
    assert all("salary" not in image.properties for image in images)
    with pytest.raises(NotFoundError, match="there is no type 'City'"):
        ann.diff(before, "main", type="City")


def test_the_change_feed_shows_what_the_diff_of_each_commit_shows(ann: Graph, plain: Graph) -> None:
    cursor = ann.changes().cursor
    commits = [
        plain.mutate(f"query q() {{ {text} }}", message="secret").commit
        for text in (
            'insert Person {name: "gus", team: "red"}',
            'insert Person {name: "hal", team: "blue"}',
            'insert City {name: "Oslo"}',
        )
    ]
    page = ann.changes(cursor)
    assert [change.id for change in page.changes()] == ["gus"]
    for block in page:
        assert not block.commit.tables
        assert block.commit.message is None
    assert commits[1] is not None
    assert [len(ann.commit_changes(commit.id)) for commit in commits if commit is not None] == [1, 0, 0]
    # The owner pages through the same commits with the same caches.
    assert len(plain.commit_changes(commits[1].id)) == 1
    assert len(ann.commit_changes(commits[1].id)) == 0


def test_commits_of_another_branch_are_shown_by_the_rules_of_the_branch_that_is_read(ann: Graph, plain: Graph) -> None:
    # On the branch `free` everything is visible, and there the commit was made.
    plain.create_branch("free")
    plain.mutate('query q() { insert Person {name: "gus", team: "blue"} }', branch="free")
    plain.create_branch("mine", "free")
    made = plain.mutate('query q() { update Person set {age: 9} where name = "gus" }', branch="mine").commit
    assert made is not None
    assert [change.id for change in ann.changes("beginning", branch="free").changes() if change.id == "gus"] == ["gus"]
    seen = {change.id for change in ann.changes("beginning", branch="mine").changes()}
    assert {"ann", "bob"} <= seen
    assert not {"gus", "cleo", "eve"} & seen
    # Its parent is a commit of the other branch.
    assert list(ann.commit_changes(made.id)) == []


def test_an_entity_whose_properties_are_all_hidden_is_shown_by_its_id(plain: Graph, tmp_path: Path) -> None:
    bare = """
    permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"], resource);
    permit (principal, action == Omnigraph::Action::"read_property", resource is Data::City);
    """
    before = plain.snapshot().commit_id
    ann = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p7", bare), actor="ann")
    plain.mutate('query q() { insert Person {name: "gus"} update Person set {age: 9} where name = "bob" }')
    plain.mutate('query q() { delete Person where name = "eve" }')
    plain.mutate("query q() { update Knows set {since: 5} where since = 1 }")
    diff = ann.diff(before)
    # Of updates, only hidden properties differ.
    assert {(change.id, change.op.value) for change in diff.changes()} == {("gus", "insert"), ("eve", "delete")}
    assert all(not image.properties for change in diff.changes() for image in (change.before, change.after) if image)
    assert diff["Person"].to_arrow().to_pylist() == [
        {"op": "delete", "id": "eve", "changed": [], "before": {}, "after": None},
        {"op": "insert", "id": "gus", "changed": [], "before": None, "after": {}},
    ]
    assert [len(block) for block in ann.changes(f"after:{before}")] == [1, 1, 0]
    assert sorted(row["id"] for row in ann.nodes("Person")) == ["ann", "bob", "cleo", "dan", "gus"]
    assert {row["id"] for row in ann.sql("select * from Person").to_dicts()} == {"ann", "bob", "cleo", "dan", "gus"}
    assert b'"data":{"id":"gus"}' in b"".join(ann.export(types=["Person"]))
    assert ann.query("query q() { match { $p: Person } return { count($p) as n } }").to_dicts() == [{"n": 5}]


WITHHELD: dict[str, Callable[[Graph, Path], Any]] = {
    "the tables of a snapshot": lambda graph, place: graph.snapshot().state,
    "spark_views": lambda graph, place: graph.spark_views(),
    "spark_sql": lambda graph, place: graph.spark_sql("select * from Person"),
    "register_tables": lambda graph, place: graph.register_tables("people"),
    "mirror": lambda graph, place: graph.mirror(place / "mirror"),
    "analyze": lambda graph, place: graph.analyze.pagerank("Knows"),
    "copy": lambda graph, place: graph.copy(place / "copy"),
    "backup": lambda graph, place: graph.backup(place / "backup"),
    "plan_schema": lambda graph, place: graph.plan_schema(SCHEMA),
    "feed": lambda graph, place: graph.feed(),
    "merge on Spark": lambda graph, place: graph.merge("mine", engine="spark"),
    "load_spark": lambda graph, place: graph.load_spark(str(place / "none.jsonl")),
    "apply_schema": lambda graph, place: graph.apply_schema(SCHEMA),
    "optimize": lambda graph, place: graph.optimize(),
    "verify": lambda graph, place: graph.verify(),
}


def test_a_lance_namespace_is_denied_to_actors_with_a_scope(ann: Graph, plain: Graph) -> None:
    request = {"id": ["main"]}
    assert OmnigraphNamespace(plain).list_tables(request).tables
    with pytest.raises(Exception, match="data rules"):
        OmnigraphNamespace(ann).list_tables(request)


def test_an_interface_and_any_type_are_those_of_the_scope(tmp_path: Path) -> None:
    schema = """
    interface Named { name: String  salary: I64? }
    node Person implements Named { name: String @key  salary: I64?  team: String? }
    node Robot implements Named { name: String @key  salary: I64? }
    node Secret implements Named { name: String @key  salary: I64? }
    edge Owns: Person -> Robot
    edge Keeps: Person -> Secret
    """
    rules = """
    permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person)
    when { resource has team && resource.team == "red" };
    permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Robot);
    permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Owns);
    permit (principal, action == Omnigraph::Action::"read_property", resource)
    unless { resource is Data::Robot && context.property == "salary" };
    """
    plain = omnigraph.create(tmp_path / "several.omni", schema)
    plain.load(
        {
            "Person": [{"name": "ann", "team": "red"}, {"name": "cleo", "team": "blue"}],
            "Robot": [{"name": "r2"}, {"name": "c3"}],
            "Secret": [{"name": "vault"}],
            "Owns": [{"src": "ann", "dst": "r2"}, {"src": "cleo", "dst": "c3"}],
            "Keeps": [{"src": "ann", "dst": "vault"}],
        }
    )
    graph = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p3", rules), actor="ann")
    named = "match { $n: Named } return { type($n) as t, $n.name as name } order { name }"
    assert rows(graph, named) == [("Person", "ann"), ("Robot", "c3"), ("Robot", "r2")]
    assert ("Secret", "vault") in rows(plain, named)
    walked = "match { $n: Person $n <$e> $m } return { type($e) as t, type($m) as m, id($m) as i }"
    assert rows(graph, walked) == [("Owns", "Robot", "r2")]
    both = "match { $n } return { id($n) as i } order { i }"
    assert rows(graph, both) == [("ann",), ("c3",), ("r2",)]
    added = "match { $p: Person } return { $p.name as n } union match { $r: Robot } return { $r.name as n } order { n }"
    assert rows(graph, added) == [("ann",), ("c3",), ("r2",)]
    # A property that one of the types hides is none of the interface.
    with pytest.raises(CompileError, match="has no property `salary`"):
        rows(graph, "match { $n: Named } return { $n.salary }")
    with pytest.raises(CompileError, match="Secret"):
        rows(graph, "match { $s: Secret } return { $s.name }")


@pytest.mark.parametrize("verb", WITHHELD)
def test_what_cannot_filter_is_denied_to_actors_with_a_scope(verb: str, ann: Graph, tmp_path: Path) -> None:
    ann.create_branch("mine")
    with pytest.raises(PolicyDenied, match="cannot apply the data rules of the actor"):
        WITHHELD[verb](ann, tmp_path)


@pytest.mark.parametrize("verb", ["load_with", "merge on Spark", "optimize"])
def test_an_actor_who_may_read_all_but_not_change_all_is_denied_unchecked_writes(
    verb: str, plain: Graph, tmp_path: Path
) -> None:
    reads_all = """
    permit (principal, action == Omnigraph::Action::"read_entity", resource);
    permit (principal, action == Omnigraph::Action::"change_entity", resource is Data::City);
    """
    graph = omnigraph.open(plain.uri, policy=bundle(tmp_path / "p2", reads_all), actor="ann")
    assert graph.counts()["Person"] == 5
    graph.mutate('query q() { insert City {name: "Oslo"} }')
    with pytest.raises(PolicyDenied, match="the data rules do not allow the change of some Person"):
        graph.mutate('query q() { insert Person {name: "Oslo"} }')
    plain.create_branch("mine")
    calls = {**WITHHELD, "load_with": lambda graph, place: graph.load_with(print, omnigraph.LoadOptions())}
    with pytest.raises(PolicyDenied, match="cannot apply the data rules of the actor"):
        calls[verb](graph, tmp_path)


FAULTS = {
    "no such type": ("permit (principal, action, resource is Data::Ghost);", "rule 'number 1'"),
    "no such attribute": (
        '@id("r") permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        "when { resource.nmae == 1 };",
        "rule 'r'",
    ),
    "an unguarded optional attribute": (
        '@id("r") forbid (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        'when { resource.team == "red" };',
        "unable to guarantee safety of access to optional attribute `team`",
    ),
    "a float": (
        '@id("r") permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        "when { resource.photo == 1 };",
        "rule 'r'",
    ),
    "an attribute that no type has": (
        '@id("r") forbid (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        'when { resource has squad && resource.squad == "red" };',
        "rule 'r': tests 'squad', which no type has",
    ),
    "arithmetic, which can overflow": (
        '@id("r") forbid (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        "when { resource has age && resource.age + 1 > 3 };",
        "rule 'r' has `+`",
    ),
    "a pattern in the middle": (
        '@id("r") permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person) '
        'when { resource.name like "a*b" };',
        "rule 'r': `like` takes `*` at the beginning and at the end",
    ),
    "a misspelled group": (
        '@id("r") forbid (principal in Omnigraph::Group::"stafff", action, resource);',
        "names the group 'stafff', which the bundle does not have; did you mean `staff`?",
    ),
    "a property rule about an entity": (
        '@id("r") permit (principal, action == Omnigraph::Action::"read_property", resource is Data::Person) '
        'when { resource.name == "ann" };',
        "tests the entity, so it cannot decide about read_property",
    ),
    "a rule about all actions and an entity": (
        '@id("r") permit (principal, action, resource is Data::Person) when { resource.name == "ann" };',
        "tests the entity, so it cannot decide about read_property",
    ),
    "an ancestor": (
        '@id("r") permit (principal, action == Omnigraph::Action::"read_entity", resource in Data::Person::"ann");',
        "has `resource in`",
    ),
    "an unknown action": (
        '@id("r") permit (principal, action == Omnigraph::Action::"see", resource);',
        "rule 'r'",
    ),
    "a template": ("permit (principal == ?principal, action, resource);", "templates"),
    "no rule at all": ("permit (principal", "do not parse"),
    "two rules of one name": (
        '@id("r") permit (principal, action, resource); @id("r") permit (principal, action, resource);',
        "rule 'r' is there twice",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rule_that_cannot_be_applied_is_refused_when_the_graph_is_opened(
    fault: str, plain: Graph, tmp_path: Path
) -> None:
    text, message = FAULTS[fault]
    with pytest.raises(PolicyInvalid) as refused:
        omnigraph.open(plain.uri, policy=bundle(tmp_path / "faulty", text))
    assert message in str(refused.value)


def test_rules_that_do_not_fit_the_schema_of_a_branch_deny_it(ann: Graph, plain: Graph, tmp_path: Path) -> None:
    plain.create_branch("other")
    plain.apply_schema(SCHEMA.replace("team: String?", 'squad: String? @rename_from("team")'), branch="other")
    with pytest.raises(PolicyDenied, match="the data rules do not fit the schema of the branch"):
        rows(ann, LINES, branch="other")
    assert len(rows(ann, LINES)) == 3


def test_an_attribute_of_another_type_denies_everything(plain: Graph, tmp_path: Path) -> None:
    graph = omnigraph.open(plain.uri, policy=bundle(tmp_path / "policy"))
    actor = omnigraph.Actor("bob", attributes={"team": 5})
    with pytest.raises(PolicyDenied, match="the attribute 'team' of the actor is no String"):
        rows(graph.acting_as(actor), LINES)


def test_a_bundle_may_hold_its_data_rules(plain: Graph, tmp_path: Path) -> None:
    text = BUNDLE + "data_rules: |\n" + "".join(f"  {line}\n" for line in ROWS.splitlines())
    place = tmp_path / "one"
    place.mkdir()
    (place / "policy.yaml").write_text(text)
    graph = omnigraph.open(plain.uri, policy=place / "policy.yaml", actor="ann")
    assert len(rows(graph, LINES)) == 3
    (place / "rows.cedar").write_text(ROWS)
    with pytest.raises(PolicyInvalid, match=r"data_rules is given, and the file rows\.cedar is there too"):
        omnigraph.open(plain.uri, policy=place / "policy.yaml")
