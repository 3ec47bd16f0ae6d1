"""Every constraint holds on every way of writing, against what is committed and what is pending together."""

from collections.abc import Callable
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import InputError, ViolationError
from tests.promises.protocol.graphs import contents, edge, note, person, reopen, run

# What is wrong, the records that are wrong on top of BASE, and the same as statements of a mutation.
BASE = [
    person("a", email="a@x"),
    person("b"),
    person("c"),
    note("n1"),
    note("n2"),
    note("n3"),
    edge("Wrote", "a", "n1", "w1"),
    edge("Wrote", "a", "n2", "w2"),
    edge("Needs", "b", "a", "d1"),
    edge("Needs", "b", "c", "d2"),
]
CASES = [
    ("range, below", "@range", [person("x", age=-1)], 'insert Person {name: "x", age: -1}'),
    ("range, above", "@range", [person("x", age=151)], 'insert Person {name: "x", age: 151}'),
    ("check", "@check", [person("x", email="nobody")], 'insert Person {name: "x", email: "nobody"}'),
    (
        "unique, committed",
        "held by 'a' and 'x'",
        [person("x", email="a@x")],
        'insert Person {name: "x", email: "a@x"}',
    ),
    (
        "unique, pending",
        "held by 'x' and 'y'",
        [person("x", email="n@x"), person("y", email="n@x")],
        'insert Person {name: "x", email: "n@x"} insert Person {name: "y", email: "n@x"}',
    ),
    ("source", "src 'x' not found in Person", [edge("Knows", "x", "a")], 'insert Knows {from: "x", to: "a"}'),
    ("target", "dst 'x' not found in Person", [edge("Knows", "a", "x")], 'insert Knows {from: "a", to: "x"}'),
    (
        "target of the wrong type",
        "dst 'a' not found in Note",
        [edge("Wrote", "b", "a")],
        'insert Wrote {from: "b", to: "a"}',
    ),
    ("cardinality, max", "has 3 edges \\(max 2\\)", [edge("Wrote", "a", "n3")], 'insert Wrote {from: "a", to: "n3"}'),
    ("cardinality, min", "has 1 edges \\(min 2\\)", [edge("Needs", "c", "a")], 'insert Needs {from: "c", to: "a"}'),
]


def _load(mode: str) -> Callable[[omnigraph.Graph, list[Any], str], object]:
    return lambda graph, records, _: graph.load(records, mode)


def _mutate(graph: omnigraph.Graph, _: list[Any], statements: str) -> object:
    return run(graph, statements)


@pytest.fixture
def populated(graph: omnigraph.Graph) -> omnigraph.Graph:
    graph.load(BASE, "append")
    return graph


@pytest.mark.parametrize("write", [_load("append"), _load("merge"), _mutate], ids=["append", "merge", "mutate"])
@pytest.mark.parametrize(("message", "records", "statements"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_a_constraint_holds_however_it_is_written(
    populated: omnigraph.Graph, write: Any, message: str, records: list[Any], statements: str
) -> None:
    before, head = contents(populated), populated.snapshot().commit_id
    for graph in (populated, reopen(populated)):
        with pytest.raises(ViolationError, match=message) as refused:
            write(graph, records, statements)
        assert refused.value.total == 1
    assert populated.snapshot().commit_id == head
    assert contents(populated) == before


@pytest.mark.parametrize(
    ("message", "records"),
    [(message, records) for name, message, records, _ in CASES if "committed" not in name and "max" not in name],
)
def test_a_constraint_holds_when_everything_is_overwritten(
    populated: omnigraph.Graph, message: str, records: list[Any]
) -> None:
    before = contents(populated)
    with pytest.raises(ViolationError, match=message):
        populated.load([*BASE, *records], "overwrite")
    assert contents(populated) == before


@pytest.mark.parametrize("write", [_load("append"), _load("merge"), _load("overwrite")])
def test_enum_values_are_checked(graph: omnigraph.Graph, write: Any) -> None:
    with pytest.raises(ViolationError, match="sad"):
        write(graph, [person("x", mood="sad")], "")


def test_an_enum_value_in_a_parameter_is_checked(graph: omnigraph.Graph) -> None:
    with pytest.raises(InputError, match="sad"):
        graph.mutate('query q($m: String) { insert Person {name: "x", mood: $m} }', {"m": "sad"})


def test_violations_of_all_tables_come_together(populated: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError) as refused:
        populated.load([person("x", email="a@x"), edge("Knows", "x", "nobody"), edge("Wrote", "a", "n3")])
    assert refused.value.total == 3
    assert {key.split("/")[0] for key in refused.value.counts} == {"unique", "endpoint", "cardinality"}


def test_one_update_may_not_give_two_entities_one_unique_value(populated: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError, match="@unique"):
        run(populated, 'update Person set {email: "same@x"} where name != "nobody"')


def test_removing_edges_below_the_minimum_is_refused(populated: omnigraph.Graph) -> None:
    for condition in ('to = "a"', 'from = "b"'):
        with pytest.raises(ViolationError, match="min 2"):
            run(populated, f"delete Needs where {condition}")
    assert len(contents(populated)["Needs"]) == 2


def test_a_deleted_source_needs_no_minimum(populated: omnigraph.Graph) -> None:
    run(populated, 'delete Person where name = "b"')
    assert "Needs" not in contents(populated)


def test_deleting_a_target_below_the_minimum_of_its_source_is_refused(populated: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError, match="min 2"):
        run(populated, 'delete Person where name = "c"')


def test_an_edge_moved_away_by_merge_counts_for_both_sources(populated: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError, match="source 'b' has 1 edges"):
        populated.load([edge("Needs", "c", "a", "d1"), edge("Needs", "c", "b", "d3")], "merge")
    populated.load([edge("Wrote", "b", "n1", "w1"), edge("Wrote", "a", "n3", "w3")], "merge")
    assert populated.snapshot().counts()["edge:Wrote"] == 3


def test_an_entity_may_keep_its_own_unique_value(populated: omnigraph.Graph) -> None:
    populated.load([person("a", email="a@x", age=3)], "merge")
    run(populated, 'update Person set {email: "a@x"} where name = "a"')


def test_two_entities_may_swap_unique_values_in_one_write(populated: omnigraph.Graph) -> None:
    populated.load([person("b", email="b@x")], "merge")
    populated.load([person("a", email="b@x"), person("b", email="a@x")], "merge")
    assert {"name": "a", "email": "b@x"} in contents(populated)["Person"]


def test_nulls_are_never_equal(graph: omnigraph.Graph) -> None:
    graph.load([person("a"), person("b")], "append")
    run(graph, 'insert Person {name: "c"}')
    assert len(contents(graph)["Person"]) == 3
