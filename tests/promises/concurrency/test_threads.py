"""Sixteen threads that share one Graph. Their writes are published in groups, and each keeps its own outcome."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import omnigraph
from omnigraph.core.commit import GraphCommit
from omnigraph.errors import ViolationError
from tests.promises.concurrency.workers import INSERT_PERSON, SCHEMA, values

THREADS = 16

EDGE = 'query draw($to: String) { insert Knows { from: "hub", to: $to } }'


@pytest.mark.parametrize("rounds", [4, pytest.param(80, marks=pytest.mark.long)])
def test_a_failing_write_harms_no_other_of_its_group(tmp_path: Path, rounds: int) -> None:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA, durability="os")
    graph.mutate(INSERT_PERSON, {"name": "hub", "email": "hub"})
    barrier = Barrier(THREADS)

    def work(number: int) -> list[tuple[str, GraphCommit]]:
        made = []
        for turn in range(rounds):
            barrier.wait(60)
            name = f"w{number}r{turn}"
            match number % 4:
                case 2:
                    with pytest.raises(ViolationError, match="@unique violation"):
                        graph.mutate(INSERT_PERSON, {"name": name, "email": "hub"})
                case 3:
                    with pytest.raises(ViolationError, match="not found in Person"):
                        graph.mutate(EDGE, {"to": "nobody"})
                case _:
                    commit = graph.mutate(INSERT_PERSON, {"name": name, "email": name}, actor=name).commit
                    assert commit is not None
                    made.append((name, commit))
        return made

    with ThreadPoolExecutor(THREADS) as pool:
        made = dict(write for writes in pool.map(work, range(THREADS)) for write in writes)

    assert set(values(graph, "node:Person", "email")[1]) == {"hub", *made}
    history = [commit for commit in graph.commits() if commit.actor is not None]
    assert {commit.actor: commit.id for commit in history} == {name: commit.id for name, commit in made.items()}
    assert len(history) == len(made)
    # The state at each commit holds exactly the writes up to it, also for those that were published together.
    people = {"hub"}
    for position, commit in enumerate(reversed(history)):
        assert commit.actor is not None
        people.add(commit.actor)
        if position % max(1, len(history) // 20) == 0:
            assert set(graph.snapshot(at=commit.id).to_arrow("node:Person")["id"].to_pylist()) == people
    assert len({commit.manifest.version for commit in history}) < len(history), "some were published together"
    assert graph.verify(deep=True).is_clean


def test_threads_on_several_branches_do_not_disturb_each_other(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA, durability="os")

    def work(number: int) -> int:
        branch = f"b{number % 4}"
        if number < 4:
            graph.create_branch(branch)
        barrier.wait(60)
        for turn in range(3):
            graph.mutate(INSERT_PERSON, {"name": f"w{number}r{turn}", "email": None}, branch=branch)
        return number

    barrier = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == list(range(THREADS))
    for branch in range(4):
        expected = {f"w{number}r{turn}" for number in range(branch, THREADS, 4) for turn in range(3)}
        assert set(values(graph, "node:Person", "name", f"b{branch}")[1]) == expected
    assert graph.verify(deep=True).is_clean
