"""Two writers of one branch: what the second does when the first was faster."""

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import ContentionError, KeyConflictError, PreconditionFailed, ReadSetConflict, ViolationError
from omnigraph.manifest import publisher
from omnigraph.write.load import plan as load
from omnigraph.write.mutate import checked as mutate
from tests.promises.protocol.graphs import SCHEMA, contents, edge, insert, names, note, person, reopen, run
from tests.support.tuning import retuned

Meanwhile = Callable[[Callable[[omnigraph.Graph], object]], AbstractContextManager[None]]


@pytest.fixture
def meanwhile(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Another handle writes once, after the next write was staged and before it is published."""

    @contextmanager
    def writing(other_write: Callable[[omnigraph.Graph], object]) -> Any:
        other = reopen(graph)
        pending = [other_write]

        def staged_late(stage: Any) -> Any:
            def stage_then_let_the_other_write(*arguments: Any) -> Any:
                plan = stage(*arguments)
                if pending:
                    pending.pop()(other)
                return plan

            return stage_then_let_the_other_write

        with monkeypatch.context() as patch:
            for module in (mutate, load):
                patch.setattr(module, "stage_deltas", staged_late(module.stage_deltas))
            yield
        assert not pending

    return writing


@pytest.fixture
def populated(graph: omnigraph.Graph) -> omnigraph.Graph:
    graph.load([person("a", age=1), person("b", age=2), note("n")])
    return graph


def test_writers_of_different_tables_both_stand(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: run(other, 'insert Note {text: "other"}')):
        run(populated, "update Person set {age: 9} where age = 1")
    assert populated.snapshot().counts()["node:Note"] == 2
    assert {"name": "a", "age": 9} in contents(populated)["Person"]


def test_inserts_into_one_table_both_stand(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: insert(other, "theirs")):
        insert(populated, "ours")
    assert names(populated) == ["a", "b", "ours", "theirs"]
    assert populated.verify().is_clean


def test_an_update_stands_when_other_rows_of_its_table_changed(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    with meanwhile(lambda other: run(other, 'update Person set {age: 20} where name = "b"')):
        run(populated, 'update Person set {age: 10} where name = "a"')
    assert contents(populated)["Person"] == [{"name": "a", "age": 10}, {"name": "b", "age": 20}]


@pytest.mark.parametrize(
    "theirs",
    [
        'update Person set {age: 20} where name = "a"',
        'delete Person where name = "a"',
        'insert Person {name: "a"}',
    ],
    ids=["update", "delete", "replace"],
)
@pytest.mark.parametrize(
    "ours",
    ['update Person set {mood: "calm"} where name = "a"', 'delete Person where name = "a"'],
    ids=["update", "delete"],
)
def test_an_update_or_delete_conflicts_when_its_rows_changed(
    populated: omnigraph.Graph, meanwhile: Meanwhile, ours: str, theirs: str
) -> None:
    with meanwhile(lambda other: run(other, theirs)), pytest.raises(ReadSetConflict) as conflict:
        run(populated, ours)
    assert conflict.value.retryable
    assert conflict.value.facts == {"member": "node:Person", "expected": 2, "actual": 3}
    assert len(list(populated.commits())) == 3
    run(populated, ours)


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ('update Person set {age: 20} where name = "a"', [{"name": "a", "age": 21}, {"name": "b", "age": 3}]),
        ('delete Person where name = "a"', [{"name": "b", "age": 3}]),
        (
            'insert Person {name: "c", age: 7}',
            [{"name": "a", "age": 2}, {"name": "b", "age": 3}, {"name": "c", "age": 8}],
        ),
    ],
    ids=["update", "delete", "insert"],
)
def test_an_update_computed_from_the_entity_alone_is_applied_to_the_newer_value(
    populated: omnigraph.Graph, meanwhile: Meanwhile, theirs: str, expected: list[dict[str, object]]
) -> None:
    with meanwhile(lambda other: run(other, theirs)):
        run(populated, "update Person set {age: age + 1} where age > 0")
    assert contents(populated)["Person"] == expected
    assert populated.verify().is_clean


def test_a_computed_update_beside_a_delete_of_changed_rows_conflicts(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    ours = 'update Person set {age: age + 1} where name = "b" delete Person where name = "a"'
    theirs = 'update Person set {mood: "calm"} where name = "a"'
    with meanwhile(lambda other: run(other, theirs)), pytest.raises(ReadSetConflict):
        run(populated, ours)


def test_a_list_of_computed_updates_is_applied_to_the_newer_values(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    text = (
        "query q($rows: [{ name: String, by: I32 }]) "
        "{ for $r in $rows { update Person set {age: age + $r.by} where name = $r.name } }"
    )
    with meanwhile(lambda other: run(other, 'update Person set {age: 20} where name = "a"')):
        populated.mutate(text, {"rows": [{"name": "a", "by": 1}, {"name": "b", "by": 5}, {"name": "a", "by": 2}]})
    assert contents(populated)["Person"] == [{"name": "a", "age": 23}, {"name": "b", "age": 7}]


def test_an_upsert_keeps_what_another_writer_set_meanwhile(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: run(other, 'update Person set {age: 20} where name = "a"')):
        run(populated, 'upsert Person {name: "a", mood: "calm"}')
    assert {"name": "a", "age": 20, "mood": "calm"} in contents(populated)["Person"]


def test_an_update_of_a_pattern_conflicts_when_the_pattern_matches_something_else(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    ours = 'match { $p: Person $p.age = 1 } update $p set {mood: "calm"}'
    with meanwhile(lambda other: run(other, 'insert Person {name: "c", age: 1}')), pytest.raises(ReadSetConflict):
        run(populated, ours)
    with meanwhile(lambda other: run(other, 'insert Person {name: "d", age: 4}')):
        run(populated, ours)


def test_an_insert_for_a_pattern_is_decided_again(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    ours = "match { $p: Person $p.age < 3 } insert Note {text: $p.name}"
    with meanwhile(lambda other: run(other, 'insert Person {name: "c", age: 1}')):
        run(populated, ours)
    assert sorted(item["text"] for item in contents(populated)["Note"]) == ["a", "b", "c", "text"]


def test_an_update_conflicts_when_a_new_row_matches_its_condition(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    with meanwhile(lambda other: run(other, 'insert Person {name: "c", age: 1}')), pytest.raises(ReadSetConflict):
        run(populated, "update Person set {age: 5} where age = 1")


def test_a_lost_update_is_impossible(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    increment = "query q($old: I32, $new: I32) { update Person set {age: $new} where age = $old }"
    with meanwhile(lambda other: other.mutate(increment, {"old": 1, "new": 11})), pytest.raises(ReadSetConflict):
        populated.mutate(increment, {"old": 1, "new": 12})
    assert {"name": "a", "age": 11} in contents(populated)["Person"]


@pytest.mark.parametrize("theirs", [lambda other: insert(other, "c"), lambda other: other.load([person("c")])])
def test_an_overwrite_conflicts_with_any_change_of_its_table(
    populated: omnigraph.Graph, meanwhile: Meanwhile, theirs: Any
) -> None:
    with meanwhile(theirs), pytest.raises(ReadSetConflict, match="node:Person"):
        populated.load([person("z")], "overwrite")
    assert names(populated) == ["a", "b", "c"]


def test_an_overwrite_of_another_table_stands(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: insert(other, "c")):
        populated.load([note("z")], "overwrite")
    assert names(populated) == ["a", "b", "c"]


def test_of_two_holders_of_a_unique_value_one_wins(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    take = "query q($n: String) {{ insert Person {{name: $n, email: {}}} }}".format('"same@x"')
    with (
        meanwhile(lambda other: other.mutate(take, {"n": "theirs"})),
        pytest.raises(ViolationError, match="held by 'theirs' and 'ours'"),
    ):
        populated.mutate(take, {"n": "ours"})
    assert names(populated) == ["a", "b", "theirs"]


def test_of_two_appends_of_one_id_one_wins(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: other.load([person("c")], "append")), pytest.raises(KeyConflictError, match="'c'"):
        populated.load([person("c")], "append")


def test_an_edge_to_a_node_deleted_meanwhile_is_refused(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with (
        meanwhile(lambda other: run(other, 'delete Person where name = "b"')),
        pytest.raises(ViolationError, match="'b' not found"),
    ):
        run(populated, 'insert Knows {from: "a", to: "b"}')
    assert populated.snapshot().counts()["edge:Knows"] == 0


def test_deleting_a_node_takes_an_edge_made_meanwhile_along(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    with meanwhile(lambda other: run(other, 'insert Knows {from: "a", to: "b"}')):
        result = run(populated, 'delete Person where name = "b"')
    assert (result.affected_nodes, result.affected_edges) == (1, 1)
    assert contents(populated)["Person"] == [{"name": "a", "age": 1}]
    assert populated.snapshot().counts()["edge:Knows"] == 0


def test_a_cardinality_is_not_exceeded_by_two_writers(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    populated.load([edge("Wrote", "a", "n")])
    add = 'insert Wrote {from: "a", to: "n"}'
    with meanwhile(lambda other: run(other, add)), pytest.raises(ViolationError, match="max 2"):
        run(populated, add)
    assert populated.snapshot().counts()["edge:Wrote"] == 2


@pytest.mark.parametrize(
    "statement", ['delete Owns where to = "{}"', 'delete Note where text = "{}"'], ids=["edges", "targets"]
)
def test_two_writers_do_not_take_both_edges_that_a_source_needs_one_of(
    populated: omnigraph.Graph, meanwhile: Meanwhile, statement: str
) -> None:
    populated.apply_schema(SCHEMA + "edge Owns: Person -> Note @card(1..)")
    populated.load([note("l", "l"), note("m", "m"), edge("Owns", "a", "l"), edge("Owns", "a", "m")])
    with meanwhile(lambda other: run(other, statement.format("m"))), pytest.raises(ViolationError, match="min 1"):
        run(populated, statement.format("l"))
    assert contents(populated)["Owns"] == [{"from": "a", "to": "l"}]


def test_a_decision_from_finding_nothing_is_made_again(populated: omnigraph.Graph, meanwhile: Meanwhile) -> None:
    # Each writer looks for what the other makes; in one order or the other, one of them must find it.
    with meanwhile(
        lambda other: run(other, 'update Note set {rank: 1} where text = "ours" insert Person {name: "theirs"}')
    ):
        run(populated, 'update Person set {mood: "calm"} where name = "theirs" insert Note {text: "ours"}')
    found = contents(populated)
    assert {"name": "theirs", "mood": "calm"} in found["Person"]
    assert {"text": "ours"} in found["Note"]


def test_a_condition_on_the_head_fails_when_anybody_was_faster(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    head = populated.snapshot().commit_id
    with meanwhile(lambda other: run(other, 'insert Note {text: "other"}')), pytest.raises(PreconditionFailed):
        insert(populated, "c", if_commit=head)
    assert names(populated) == ["a", "b"]


def test_of_two_writers_with_one_key_the_second_gets_the_firsts_commit(
    populated: omnigraph.Graph, meanwhile: Meanwhile
) -> None:
    made: list[Any] = []
    with meanwhile(lambda other: made.append(insert(other, "theirs", idempotency_key="k"))):
        result = insert(populated, "ours", idempotency_key="k")
    assert result.commit == made[0].commit
    assert names(populated) == ["a", "b", "theirs"]


def test_a_stale_handle_sees_and_writes_the_newest_state(populated: omnigraph.Graph) -> None:
    stale = reopen(populated)
    assert names(stale) == ["a", "b"]
    insert(populated, "c")
    run(stale, 'insert Knows {from: "c", to: "a"}')
    run(populated, 'delete Knows where from = "c"')
    assert run(stale, 'delete Person where name = "c"').affected_edges == 0
    assert names(populated) == names(stale) == ["a", "b"]


def test_a_stale_handle_refuses_nothing_that_the_newest_state_allows(populated: omnigraph.Graph) -> None:
    stale = reopen(populated)
    run(stale, 'insert Person {name: "u", email: "u@x"}')
    run(populated, 'delete Person where name = "u"')
    run(stale, 'insert Person {name: "v", email: "u@x"}')
    assert run(populated, 'update Person set {age: 3} where name = "v"').affected_nodes == 1


def test_running_out_of_tries_is_a_retryable_error(populated: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def always_lost(*_: object) -> None:
        raise publisher.SwapLost

    with retuned(populated, swaps_max=3), monkeypatch.context() as patch:
        patch.setattr(publisher, "replace_state", always_lost)
        with pytest.raises(ContentionError) as refused:
            insert(populated, "c")
    assert refused.value.retryable
    insert(populated, "d")
    assert names(populated) == ["a", "b", "d"]
