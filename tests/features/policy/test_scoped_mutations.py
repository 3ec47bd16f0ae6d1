"""Mutations under rules about data: statements find what the actor may read, and change what it may change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import CompileError, InputError, PolicyDenied
from tests.features.policy.teams import bundle, rows

CHANGES_ALL = """
permit (principal, action == Omnigraph::Action::"change_entity", resource);
permit (principal, action == Omnigraph::Action::"read_property", resource);
permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person)
when { resource has team && resource.team == "red" };
permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Knows);
"""
"""Reads one team, and may change everything that it finds."""

CHANGES_YOUNG = """
permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"read_property"], resource);
permit (principal, action == Omnigraph::Action::"change_entity", resource is Data::Person)
when { resource has age && resource.age < 65 };
"""
DENIED = "the data rules do not allow the change"


def acting(plain: Graph, place: Path, rules: str) -> Graph:
    return omnigraph.open(plain.uri, policy=bundle(place / "rules", rules), actor="ann")


def run(graph: Graph, text: str, params: dict[str, Any] | None = None, head: str = "q()") -> Any:
    return graph.mutate(f"query {head} {{ {text} }}", params)


def ages(graph: Graph) -> dict[str, int]:
    return dict(rows(graph, "match { $p: Person } return { $p.name, $p.age }"))


def test_a_pattern_binds_only_entities_inside_the_scope(ann: Graph, plain: Graph) -> None:
    before = ages(plain)
    run(ann, "match { $p: Person $p knows $q } update $q set {age: 1}")
    assert ages(plain) == {**before, "bob": 1}
    # Bob knows Cleo, who knows Dan: both hops lead over a hidden node.
    assert run(ann, 'match { $p: Person { name: "bob" } $p knows{1,3} $q } update $q set {age: 2}').commit is None
    path = 'match { $a: Person { name: "bob" } $b: Person { name: "dan" } $a $path: shortest knows $b }'
    assert run(ann, f"{path} update $b set {{age: 3}}").commit is None
    assert run(plain, f"{path} update $b set {{age: 3}}").affected_nodes == 1
    # The edge from Bob to Cleo is hidden with its end, that of 99 by its own rule.
    assert run(ann, "match { $p: Person $p $e: knows $q } delete $e").affected_edges == 2
    assert sorted(rows(plain, "match { $p: Person $p $e: knows $q } return { $e.since }")) == [(2,), (3,), (99,)]


def test_a_pattern_sees_pending_entities_under_the_same_rules(ann: Graph, plain: Graph) -> None:
    text = 'insert Person {name: "flo", team: "red", age: 1} match { $p: Person $p.age < 31 } update $p set {age: 9}'
    assert run(ann, text).affected_nodes == 2
    assert ages(plain) == {"ann": 9, "bob": 40, "cleo": 50, "dan": 60, "eve": 70, "flo": 9}


def test_a_pattern_names_no_hidden_type_or_property(ann: Graph) -> None:
    with pytest.raises(CompileError, match="unknown node type `City`"):
        run(ann, "match { $p: Person $c: City } update $p set {bio: $c.name}")
    with pytest.raises(CompileError, match="no property `salary`"):
        run(ann, "match { $p: Person $q: Person } update $p set {age: $q.salary}")
    with pytest.raises(CompileError, match="no property `salary`"):
        run(ann, "update Person set {age: salary} where age > 0")
    with pytest.raises(CompileError, match="no property `salary`"):
        run(ann, "update Person set {age: 1} where salary > 0")
    with pytest.raises(CompileError, match="no property `salary`"):
        run(ann, "update Person set {age: 1} where age > 0 returning { salary }")


def test_records_of_a_list_find_only_entities_inside_the_scope(ann: Graph, plain: Graph) -> None:
    head = "q($rows: [{ name: String, team: String, age: I32 }])"
    names = ("bob", "cleo", "eve", "nemo")
    given = {"rows": [{"name": name, "team": "red", "age": number} for number, name in enumerate(names)]}
    before = ages(plain)
    # Joined by the key, by another property, and without an equality.
    for where in ("name = $row.name", "lower(name) = $row.name", "name = $row.name or bio = $row.name"):
        run(ann, f"for $row in $rows {{ update Person set {{age: $row.age}} where {where} }}", given, head)
        assert ages(plain) == {**before, "bob": 0}
        run(plain, 'update Person set {age: 40} where name = "bob"')
    everyone = "for $row in $rows { upsert Person {name: $row.name, team: $row.team, age: $row.age} }"
    with pytest.raises(PolicyDenied, match=DENIED):
        run(ann, everyone, given, head)
    assert ages(plain) == before


def test_a_condition_never_meets_a_hidden_entity(ann: Graph, plain: Graph) -> None:
    run(plain, 'update Person set {age: 2147483647} where name = "cleo"')
    run(plain, 'insert Knows {from: "ann", to: "eve", since: -2147483648}')
    # A product overflows for these two entities only: an error would tell of them.
    for text in ("update Person set {age: 1} where age * 4294967299 < 0", "delete Knows where since * 4294967299 < 0"):
        assert run(ann, text).commit is None
        with pytest.raises(InputError, match="overflow"):
            run(plain, text)


def test_an_upsert_onto_a_hidden_entity_is_refused(plain: Graph, tmp_path: Path) -> None:
    graph = acting(plain, tmp_path, CHANGES_ALL)
    done = run(graph, 'upsert Person {name: "bob", age: coalesce(age, 0) + 1} returning { name, age }')
    assert done.returned.rows == [{"name": "bob", "age": 41}]
    new = run(graph, 'upsert Person {name: "new", team: "red", age: coalesce(age, 0) + 1} returning { name, age }')
    assert new.returned.rows == [{"name": "new", "age": 1}]
    for name in ("cleo", "eve"):
        with pytest.raises(PolicyDenied, match=DENIED) as refused:
            run(graph, f'upsert Person {{name: "{name}", age: coalesce(age, 0) + 1}} returning {{ age }}')
        assert name not in str(refused.value)
    assert ages(plain)["cleo"] == 50


def test_returned_rows_are_those_that_the_actor_may_read(plain: Graph, tmp_path: Path) -> None:
    graph = acting(plain, tmp_path, CHANGES_ALL)
    text = 'update Person set {team: case when age > 35 then "blue" else team end} where age > 0 returning { name }'
    shown = graph.mutate_preview(f"query q() {{ {text} }}").returned
    assert shown is not None
    assert shown.rows == [{"name": "ann"}]
    done = run(graph, text)
    assert done.affected_nodes == 2
    assert done.returned.rows == [{"name": "ann"}]
    deleted = run(graph, "delete Person where age > 0 returning { name, team }")
    assert deleted.returned.rows == [{"name": "ann", "team": "red"}]
    assert "cleo" in ages(plain)


def test_a_delete_that_takes_edges_along_needs_the_right_to_change_them(ann: Graph, plain: Graph) -> None:
    # Ann's edge to Dan is too old for the rules, so neither of them can be deleted.
    with pytest.raises(PolicyDenied, match="the change of some Knows"):
        run(ann, 'delete Person where name = "dan"')
    run(plain, "delete Knows where since = 99")
    with pytest.raises(PolicyDenied, match="the change of some LivesIn"):
        run(ann, 'delete Person where name = "ann"')
    assert run(ann, 'delete Person where name = "dan"').affected_nodes == 1


def test_an_update_that_lost_a_race_is_decided_again(plain: Graph, tmp_path: Path) -> None:
    graph = acting(plain, tmp_path, CHANGES_YOUNG)
    add = 'update Person set {age: age + 1} where name = "bob"'

    def overtake(age: int) -> None:
        """Commit without the knowledge of the graph, whose next write finds the newer state when it publishes."""
        run(omnigraph.open(plain.uri), f'update Person set {{age: {age}}} where name = "bob"')

    assert ages(graph)["bob"] == 40
    overtake(50)
    assert run(graph, add).affected_nodes == 1
    assert ages(plain)["bob"] == 51
    for age in (99, 64):
        overtake(age)
        with pytest.raises(PolicyDenied, match=DENIED):
            run(graph, add)
        assert ages(plain)["bob"] == age
        # A refusal is decided on the newest state, too.
        overtake(20)
        assert run(graph, add).affected_nodes == 1
        assert ages(plain)["bob"] == 21


def test_an_end_that_becomes_hidden_meanwhile_refuses_its_edge(ann: Graph, plain: Graph) -> None:
    assert rows(ann, 'match { $p: Person { name: "bob" } } return { $p.name }') == [("bob",)]
    run(plain, 'update Person set {team: "blue"} where name = "bob"')
    with pytest.raises(PolicyDenied, match=DENIED):
        run(ann, 'insert Knows {from: "ann", to: "bob", since: 1}')
    # An edge that is hidden with its end is not found either.
    assert run(ann, "delete Knows where since = 1").commit is None


def test_the_steps_of_a_mutation_are_not_measured_for_an_actor_with_a_scope(ann: Graph, plain: Graph) -> None:
    text = 'query q() { update Person set {age: 1} where name = "cleo" }'
    with pytest.raises(PolicyDenied, match="stats cannot apply the data rules"):
        ann.mutate(text, stats=True)
    assert plain.mutate(text, stats=True).operators
