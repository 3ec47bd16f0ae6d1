"""Eight processes that want the same thing at the same time."""

from collections.abc import Callable
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.graph import Graph
from tests.promises.concurrency import workers
from tests.promises.concurrency.conftest import PROCESSES

Everywhere = Callable[..., list[Any]]


def rounds(few: int, many: int, *, in_bucket: bool = False) -> pytest.MarkDecorator:
    """Rounds on local disk and on S3. The ordinary suite has the few on local disk, and ``in_bucket`` those on S3."""
    s3, long = pytest.mark.s3, pytest.mark.long
    cases = [
        ("local", few),
        pytest.param("local", many, marks=long),
        pytest.param("s3", few, marks=[s3] if in_bucket else [s3, long]),
        pytest.param("s3", many, marks=[s3, long]),
    ]
    return pytest.mark.parametrize(("place", "rounds"), cases, indirect=["place"])


def check_sound(graph: Graph) -> None:
    report = graph.verify(deep=True)
    assert report.is_clean, report.problems


@rounds(2, 60)
def test_transfers_preserve_the_sum_at_every_commit(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    accounts = [{"type": "Account", "data": {"name": f"a{number}", "balance": 100}} for number in range(5)]
    graph.load(accounts, "append")
    everywhere(workers.transfer, rounds)
    commits = [commit for commit in graph.commits() if commit.actor is not None]
    assert len(commits) == PROCESSES * rounds
    for commit in commits[:: max(1, len(commits) // 20)]:
        balances = graph.snapshot(at=commit.id).to_arrow("node:Account")["balance"].to_pylist()
        assert sum(balances) == 500
        assert min(balances) >= 0
    check_sound(graph)


@rounds(4, 60, in_bucket=True)
def test_a_unique_value_has_exactly_one_winner_every_round(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    won = everywhere(workers.claim, rounds)
    assert [sum(turn) for turn in zip(*won, strict=True)] == [1] * rounds
    _, emails = workers.values(graph, "node:Person", "email")
    expected = {
        f"r{turn}w{number}": f"r{turn}" for number in range(PROCESSES) for turn in range(rounds) if won[number][turn]
    }
    assert emails == expected
    check_sound(graph)


@rounds(2, 100)
def test_a_counter_that_everybody_increments_needs_no_retry(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    graph.load([{"type": "Counter", "data": {"name": "c", "value": 0}}], "append")
    added = everywhere(workers.add, rounds)
    _, found = workers.values(graph, "node:Counter", "value")
    assert found == {"c": sum(added)}
    check_sound(graph)


@rounds(4, 200)
def test_every_accepted_increment_counts(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    graph.load([{"type": "Counter", "data": {"name": "c", "value": 0}}], "append")
    counted = everywhere(workers.increment, rounds)
    _, found = workers.values(graph, "node:Counter", "value")
    assert found == {"c": sum(counted)}
    assert sum(counted) >= rounds, "somebody wins every time"
    check_sound(graph)


@rounds(3, 60, in_bucket=True)
def test_an_edge_never_outlives_its_end(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    names = ["hub", *(f"t{turn}" for turn in range(rounds))]
    graph.load([{"type": "Person", "data": {"name": name}} for name in names], "append")
    done = everywhere(workers.skew, rounds)
    snapshot = graph.snapshot()
    people = set(snapshot.to_arrow("node:Person")["id"].to_pylist())
    ends = snapshot.to_arrow("edge:Knows")["dst"].to_pylist()
    assert set(ends) <= people
    for turn in range(rounds):
        deletes = sum(done[number][turn] for number in range(0, PROCESSES, 2))
        edges = sum(done[number][turn] for number in range(1, PROCESSES, 2))
        if f"t{turn}" in people:
            assert deletes == 0
            assert ends.count(f"t{turn}") == edges
        else:
            assert deletes == 1
    check_sound(graph)


@rounds(2, 60)
def test_writers_of_different_tables_all_succeed(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    everywhere(workers.fill_own_table, rounds)
    counts = graph.snapshot().counts()
    assert {key: count for key, count in counts.items() if count} == {
        f"node:T{number}": rounds for number in range(PROCESSES)
    }
    check_sound(graph)


@rounds(2, 30)
def test_branches_are_written_independently(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    everywhere(workers.fill_own_branch, rounds)
    assert graph.snapshot().counts()["node:Person"] == 0
    for number in range(PROCESSES):
        _, emails = workers.values(graph, "node:Person", "email", f"b{number}")
        assert emails == {f"b{number}": "same"}
        assert len(list(graph.commits(f"b{number}"))) == 1 + 2 * rounds + 1
    check_sound(graph)


@rounds(5, 100)
def test_a_write_to_a_deleted_branch_is_not_resurrected(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    graph.create_branch("b")
    written = [write for answers in everywhere(workers.recreate, rounds) for write in answers]
    assert workers.foreign_commits(graph) == []
    if "b" not in {info.name for info in graph.branches()}:
        graph.create_branch("b")
    snapshot = graph.snapshot("b")
    visible = {commit.id for commit in graph.commits("b")} - {commit.id for commit in graph.commits()}
    assert visible == {commit for incarnation, commit in written if incarnation == snapshot.state.incarnation}
    assert snapshot.counts()["node:Person"] == len(visible)
    check_sound(graph)


@rounds(4, 60)
def test_a_job_that_runs_everywhere_is_done_once(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    commits = everywhere(workers.once, rounds)
    assert [len(set(turn)) for turn in zip(*commits, strict=True)] == [1] * rounds
    assert graph.snapshot().counts()["node:Person"] == rounds
    assert len(list(graph.commits())) == 1 + rounds
    check_sound(graph)


@rounds(2, 20)
def test_a_graph_that_many_create_at_once_is_one_graph(
    place: workers.Place, everywhere: Everywhere, rounds: int
) -> None:
    made = everywhere(workers.create, rounds)
    uri, options = place
    for turn, ids in enumerate(zip(*made, strict=True)):
        graph = omnigraph.open(f"{uri}-{turn}", storage_options=options)
        assert {id_ for id_ in ids if id_ is not None} == {graph.id}
        graph.mutate(workers.INSERT_PERSON, {"name": "ann", "email": None})
        assert graph.snapshot().counts()["node:Person"] == 1
        check_sound(graph)


@rounds(3, 40)
def test_a_branch_that_many_rename_at_once_has_one_name(graph: Graph, everywhere: Everywhere, rounds: int) -> None:
    for turn in range(rounds):
        graph.create_branch(f"b{turn}")
    given = {name for names in everywhere(workers.rename, rounds) for name in names if name is not None}
    assert {info.name for info in graph.branches()} == {"main", *given}
    assert len(given) == rounds
