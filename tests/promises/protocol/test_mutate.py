"""Mutations: statements run in order and become one atomic commit."""

import pytest

import omnigraph
from omnigraph.errors import InputError, PreconditionFailed, UsageError, ViolationError
from tests.promises.protocol.graphs import contents, edge, insert, names, note, person, run


@pytest.fixture
def populated(graph: omnigraph.Graph) -> omnigraph.Graph:
    people = [person("a", age=30, email="a@x"), person("b", age=40), person("c")]
    knows = [edge("Knows", "a", "b"), edge("Knows", "b", "c"), edge("Knows", "c", "c")]
    graph.load([*people, *knows, note("n1"), edge("Wrote", "a", "n1")])
    return graph


def test_a_statement_sees_what_the_earlier_ones_did(graph: omnigraph.Graph) -> None:
    result = run(
        graph,
        """insert Person {name: "a", age: 1}
        update Person set {age: 2} where age = 1
        update Person set {age: 3} where age = 2
        insert Person {name: "b", age: 1}
        delete Person where age = 1""",
    )
    assert contents(graph)["Person"] == [{"name": "a", "age": 3}]
    assert result.affected_nodes == 1
    assert len(list(graph.commits())) == 2


def test_an_insert_by_key_replaces_the_whole_entity(populated: omnigraph.Graph) -> None:
    result = run(populated, 'insert Person {name: "a", mood: "calm"}')
    assert {"name": "a", "mood": "calm"} in contents(populated)["Person"]
    assert (result.affected_nodes, result.affected_edges) == (1, 0)
    [change] = result.commit.tables
    assert (change.inserted, change.updated, change.deleted) == (0, 1, 0)
    assert len(contents(populated)["Knows"]) == 3, "its edges stay"


def test_entities_without_a_key_are_always_new(graph: omnigraph.Graph) -> None:
    for _ in range(2):
        run(graph, 'insert Note {text: "same"} insert Note {text: "same"}')
    assert graph.snapshot().counts()["node:Note"] == 4


def test_deleting_a_node_takes_its_edges_along_and_counts_each_once(populated: omnigraph.Graph) -> None:
    result = run(populated, 'delete Person where name = "c"')
    assert (result.affected_nodes, result.affected_edges) == (1, 2)
    assert contents(populated)["Knows"] == [{"from": "a", "to": "b"}]
    result = run(populated, 'delete Person where name = "a"')
    assert (result.affected_nodes, result.affected_edges) == (1, 2)
    assert "Wrote" not in contents(populated)
    assert populated.snapshot().counts()["node:Note"] == 1


def test_deleting_a_pending_node_takes_its_pending_edges_along(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    run(
        graph,
        'insert Person {name: "b"} insert Knows {from: "a", to: "b"} delete Person where name = "b"',
    )
    assert contents(graph) == {"Person": [{"name": "a"}]}


def test_overlapping_deletes_count_an_entity_once(populated: omnigraph.Graph) -> None:
    result = run(populated, 'delete Person where name = "a" delete Person where age = 30 delete Knows where from = "a"')
    assert (result.affected_nodes, result.affected_edges) == (1, 2)


def test_edges_are_deleted_by_their_ends_and_properties(populated: omnigraph.Graph) -> None:
    assert run(populated, 'delete Knows where to = "c"').affected_edges == 2
    assert contents(populated)["Knows"] == [{"from": "a", "to": "b"}]


def test_a_deleted_entity_can_be_made_again_in_the_same_mutation(populated: omnigraph.Graph) -> None:
    result = run(populated, 'delete Person where name = "a" insert Person {name: "a", age: 7}')
    assert {"name": "a", "age": 7} in contents(populated)["Person"]
    assert result.affected_edges == 2
    assert [row for row in contents(populated)["Knows"] if "a" in row.values()] == []


def test_updated_then_deleted_is_gone(populated: omnigraph.Graph) -> None:
    run(populated, 'update Person set {age: 99} where name = "b" delete Person where age = 99')
    assert names(populated) == ["a", "c"]


def test_one_statement_for_each_side_is_a_disjunction_as_the_hint_for_or_says(populated: omnigraph.Graph) -> None:
    change = 'update Person set {age: 30, mood: "calm"} where age = '
    run(populated, f"{change} 40 {change} 30")
    calm = [row["name"] for row in contents(populated)["Person"] if row.get("mood") == "calm"]
    assert calm == ["a", "b"], "also where an update makes the other side true"
    run(populated, 'delete Person where mood = "calm" delete Person where name = "c"')
    assert names(populated) == []


def test_null_matches_no_condition(populated: omnigraph.Graph) -> None:
    assert run(populated, "delete Person where age != 30").affected_nodes == 1
    assert names(populated) == ["a", "c"]


def test_what_changes_nothing_makes_no_commit(populated: omnigraph.Graph) -> None:
    head = populated.snapshot().commit_id
    for statements in ('delete Person where name = "nobody"', "update Person set {age: 1} where age = 149"):
        result = run(populated, statements)
        assert (result.commit, result.affected_nodes) == (None, 0)
    assert run(populated, 'insert Note {text: "x"} delete Note where text = "x"').commit is None
    assert populated.snapshot().commit_id == head


def test_a_freed_unique_value_can_be_taken_in_the_same_mutation(populated: omnigraph.Graph) -> None:
    run(populated, 'update Person set {email: "old@x"} where name = "a" insert Person {name: "d", email: "a@x"}')
    run(populated, 'delete Person where name = "d" update Person set {email: "a@x"} where name = "b"')
    with pytest.raises(ViolationError, match="held by"):
        run(populated, 'update Person set {email: "a@x"} where name = "c"')


def test_a_key_cannot_be_updated(populated: omnigraph.Graph) -> None:
    with pytest.raises(InputError, match="key"):
        run(populated, 'update Person set {name: "z"} where name = "a"')


def test_a_reading_query_is_refused(graph: omnigraph.Graph) -> None:
    with pytest.raises(UsageError, match="reads"):
        graph.mutate("query q() { match { $p: Person } return { $p.name } }")


def test_the_commit_carries_who_why_and_from_where(graph: omnigraph.Graph) -> None:
    result = insert(graph, "a", actor="ann", message="first", provenance={"tool": "test"}, idempotency_key="k")
    head = next(iter(graph.commits()))
    assert head == result.commit
    assert (head.actor, head.message, head.provenance, head.idempotency_key) == ("ann", "first", {"tool": "test"}, "k")


def test_a_named_head_is_a_condition(graph: omnigraph.Graph) -> None:
    first = graph.snapshot().commit_id
    second = insert(graph, "a", if_commit=first).commit.id
    with pytest.raises(PreconditionFailed) as refused:
        insert(graph, "b", if_commit=first)
    assert refused.value.facts == {"expected": first, "actual": second}
    assert names(graph) == ["a"]


def test_a_named_head_is_a_condition_also_for_what_would_change_nothing(graph: omnigraph.Graph) -> None:
    first = graph.snapshot().commit_id
    insert(graph, "a")
    with pytest.raises(PreconditionFailed):
        run(graph, 'delete Person where name = "nobody"', if_commit=first)


def test_a_named_head_beats_a_violation(graph: omnigraph.Graph) -> None:
    first = graph.snapshot().commit_id
    insert(graph, "a")
    with pytest.raises(PreconditionFailed):
        run(graph, 'insert Knows {from: "x", to: "y"}', if_commit=first)
