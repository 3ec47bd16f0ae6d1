"""Threads that share one graph are published together, and each gets its own commit and its own outcome."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import OutcomeUnknown, PreconditionFailed, ReadSetConflict, StorageError, ViolationError
from omnigraph.manifest import publisher
from tests.promises.protocol.graphs import create, insert, names, person, reopen, run
from tests.support.queues import held_door, together
from tests.support.tuning import tuned


def test_waiting_writers_share_one_manifest_version(graph: omnigraph.Graph) -> None:
    version = graph.snapshot().state.version
    futures = together(graph, [lambda n=n: insert(graph, f"p{n}", actor=f"actor-{n}") for n in range(8)])
    made = [future.result().commit for future in futures]
    state = reopen(graph).snapshot().state
    assert state.version == version + 1
    assert [commit.id for commit in state.commits[1:]] == [commit.id for commit in made]
    assert [commit.actor for commit in made] == [f"actor-{n}" for n in range(8)]
    assert {commit.manifest.version for commit in made} == {version + 1}
    assert names(graph) == [f"p{n}" for n in range(8)]


def test_every_commit_of_a_group_can_be_read_by_itself(graph: omnigraph.Graph) -> None:
    writes = [
        lambda: insert(graph, "a"),
        lambda: run(graph, 'insert Note {text: "x"}'),
        lambda: insert(graph, "b"),
    ]
    insert(graph, "zero")
    futures = together(graph, writes)
    graph_after = [names(graph.snapshot(at=future.result().commit.id)) for future in futures]
    assert graph_after == [["a", "zero"], ["a", "zero"], ["a", "b", "zero"]]
    cold = reopen(graph)
    for future in futures:
        commit = future.result().commit
        snapshot = cold.snapshot(at=commit.id)
        assert snapshot.commit_id == commit.id
        assert snapshot.state.counter == commit.manifest.counter
    counts = [cold.snapshot(at=future.result().commit.id).counts()["node:Note"] for future in futures]
    assert counts == [0, 1, 1]


def test_a_failing_writer_does_not_harm_the_others(graph: omnigraph.Graph) -> None:
    take = 'query q($n: String) { insert Person {name: $n, email: "same@x"} }'
    futures = together(
        graph,
        [
            lambda: graph.mutate(take, {"n": "first"}),
            lambda: graph.mutate(take, {"n": "second"}),
            lambda: insert(graph, "other"),
        ],
    )
    assert futures[0].result().commit is not None
    with pytest.raises(ViolationError, match="held by 'first' and 'second'"):
        futures[1].result()
    assert futures[2].result().commit is not None
    assert names(reopen(graph)) == ["first", "other"]


def test_a_group_is_bounded_and_the_rest_is_published_after_it(graph: omnigraph.Graph) -> None:
    graph = tuned(graph, published_commits_max=3)
    version = graph.snapshot().state.version
    futures = together(graph, [lambda n=n: insert(graph, f"p{n}") for n in range(10)])
    assert all(future.result().commit for future in futures)
    assert names(graph) == sorted(f"p{n}" for n in range(10))
    assert graph.snapshot().state.version == version + 4


def test_a_group_that_overflows_the_manifest_is_spilled_around(graph: omnigraph.Graph) -> None:
    for number in range(60):
        insert(graph, f"p{number:02}")
    futures = together(graph, [lambda n=n: insert(graph, f"q{n}") for n in range(8)])
    assert len(list(graph.commits())) == 69
    for number, future in enumerate(futures):
        snapshot = reopen(graph).snapshot(at=future.result().commit.id)
        assert snapshot.counts()["node:Person"] == 61 + number


def test_writers_of_one_idempotency_key_make_one_commit(graph: omnigraph.Graph) -> None:
    futures = together(graph, [lambda n=n: insert(graph, f"p{n}", idempotency_key="k") for n in range(4)])
    assert len({future.result().commit.id for future in futures}) == 1
    assert names(graph) == ["p0"]


def test_an_update_that_waits_is_decided_from_what_it_read(graph: omnigraph.Graph) -> None:
    insert(graph, "ann")
    grow = 'query q($a: I32) { update Person set {age: $a} where name = "ann" }'
    futures = together(graph, [lambda n=n: graph.mutate(grow, {"a": n}) for n in range(2)])
    assert futures[0].result().commit is not None
    with pytest.raises(ReadSetConflict):
        futures[1].result()


def test_a_waiting_insert_that_expects_a_head_is_refused_if_others_came_first(graph: omnigraph.Graph) -> None:
    head = graph.snapshot().commit_id
    futures = together(graph, [lambda n=n: insert(graph, f"p{n}", if_commit=head) for n in range(2)])
    assert futures[0].result().commit is not None
    with pytest.raises(PreconditionFailed):
        futures[1].result()


def test_a_waiting_insert_is_not_refused_for_what_another_process_has_published(graph: omnigraph.Graph) -> None:
    insert(graph, "ann")
    knows = 'insert Knows {from: "ann", to: "bob"}'
    with ThreadPoolExecutor(2) as pool, held_door(graph) as waiting:
        # The state in memory does not have bob; another process inserts him while the edge waits.
        edge = pool.submit(run, graph, knows)
        while not waiting():
            threading.Event().wait(0.001)
        insert(reopen(graph), "bob")
    assert edge.result().commit is not None
    # A node that exists nowhere is a violation all the same.
    with ThreadPoolExecutor(2) as pool, held_door(graph) as waiting:
        edge = pool.submit(run, graph, knows.replace("bob", "nobody"))
        while not waiting():
            threading.Event().wait(0.001)
    with pytest.raises(ViolationError):
        edge.result()


def test_branches_do_not_wait_for_each_other(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    with held_door(graph):
        insert(graph, "a", branch="review")
    assert names(graph.snapshot("review")) == ["a"]


def test_when_the_swap_cannot_be_staged_nobody_is_published(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(publisher, "replace_state", full)
        futures = together(graph, [lambda n=n: insert(graph, f"p{n}") for n in range(3)])
    for future in futures:
        with pytest.raises(StorageError, match="no space"):
            future.result()
    assert names(reopen(graph)) == []
    insert(graph, "after")
    assert names(reopen(graph)) == ["after"]


def test_an_interrupted_publisher_leaves_the_others_with_an_open_outcome(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = publisher.replace_state

    def interrupted(*arguments: Any) -> None:
        swap(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publisher, "replace_state", interrupted)
        futures = together(graph, [lambda n=n: insert(graph, f"p{n}") for n in range(3)])
    errors = [future.exception() for future in futures]
    assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "OutcomeUnknown", "OutcomeUnknown"]
    for error in errors:
        if isinstance(error, OutcomeUnknown):
            assert reopen(graph).commit(error.commit_id)
    assert names(reopen(graph)) == ["p0", "p1", "p2"]


def test_many_threads_make_many_commits_in_fewer_swaps(tmp_path: Any) -> None:
    graph = create(tmp_path, ids=None, clock=None)
    version = graph.snapshot().state.version
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: graph.load([person(f"p{n}")], "append"), range(80)))
    assert len({result.commit.id for result in results}) == 80
    assert len(names(graph)) == 80
    assert graph.snapshot().state.version - version < 80
    assert graph.verify().is_clean
