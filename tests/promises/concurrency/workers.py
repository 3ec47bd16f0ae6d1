"""Workloads of concurrent writers, each run in its own process; results are plain values.

Only errors that a program may see in a race are caught here. Anything else ends the worker and fails the test.
"""

from __future__ import annotations

import random
from multiprocessing.synchronize import Barrier
from typing import Any

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.errors import (
    AlreadyExistsError,
    ContentionError,
    NotFoundError,
    PreconditionFailed,
    ReadSetConflict,
    StorageError,
    ViolationError,
)

SCHEMA = """
node Account { name: String @key  balance: I64 }
node Person { name: String @key  email: String? @unique }
node Counter { name: String @key  value: I64 }
edge Knows: Person -> Person
node T0 { name: String @key }
node T1 { name: String @key }
node T2 { name: String @key }
node T3 { name: String @key }
node T4 { name: String @key }
node T5 { name: String @key }
node T6 { name: String @key }
node T7 { name: String @key }
"""

WAIT_S = 120.0
"""For the others at a barrier. Longer means that one of them is dead."""

RETRIES_MAX = 1_000

_barrier: Barrier | None = None

Place = tuple[str, dict[str, str] | None]


def start(barrier: Barrier) -> None:
    """Run once in every process."""
    global _barrier  # noqa: PLW0603 - a process pool hands things to its workers in no other way
    _barrier = barrier


def _together() -> None:
    assert _barrier is not None
    _barrier.wait(WAIT_S)


def _open(place: Place) -> Graph:
    uri, options = place
    return omnigraph.open(uri, storage_options=options, durability="os")


def values(graph: Graph, key: str, column: str, branch: str | None = None) -> tuple[str, dict[str, Any]]:
    """A column by id, and the commit it was read at."""
    snapshot = graph.snapshot(branch)
    table = snapshot.to_arrow(key)
    return snapshot.commit_id, dict(zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True))


TRANSFER = """
query transfer($from: String, $to: String, $less: I64, $more: I64) {
  update Account set { balance: $less } where name = $from
  update Account set { balance: $more } where name = $to
}
"""


def transfer(place: Place, number: int, rounds: int) -> int:
    """Move money between accounts, each time decided from what was read. Answers how often others were faster."""
    graph, choose, lost = _open(place), random.Random(number), 0
    _together()
    for _ in range(rounds):
        for _ in range(RETRIES_MAX):
            head, balances = values(graph, "node:Account", "balance")
            source = choose.choice(sorted(name for name, balance in balances.items() if balance))
            target = choose.choice(sorted(balances.keys() - {source}))
            amount = choose.randint(1, balances[source])
            change = {
                "from": source,
                "to": target,
                "less": balances[source] - amount,
                "more": balances[target] + amount,
            }
            try:
                graph.mutate(TRANSFER, change, if_commit=head, actor=f"w{number}")
                break
            except (PreconditionFailed, ReadSetConflict, ContentionError):
                lost += 1
        else:
            raise AssertionError("never got through")
    return lost


INSERT_PERSON = "query add($name: String, $email: String?) { insert Person { name: $name, email: $email } }"


def claim(place: Place, number: int, rounds: int) -> list[bool]:
    """Try to get the same unique value as everybody else; answers in which rounds it was won."""
    graph, won = _open(place), []
    for turn in range(rounds):
        _together()
        try:
            graph.mutate(INSERT_PERSON, {"name": f"r{turn}w{number}", "email": f"r{turn}"})
            won.append(True)
        except ViolationError:
            won.append(False)
    return won


INCREMENT = 'query count($value: I64) { update Counter set { value: $value } where name = "c" }'


def increment(place: Place, number: int, rounds: int) -> int:
    """Add one to what was read; answers how often that was accepted."""
    graph, counted = _open(place), 0
    _together()
    for _ in range(rounds):
        head, found = values(graph, "node:Counter", "value")
        try:
            graph.mutate(INCREMENT, {"value": found["c"] + 1}, if_commit=head)
            counted += 1
        except (PreconditionFailed, ReadSetConflict, ContentionError):
            pass
    return counted


ADD = 'query count($by: I64) { update Counter set { value: value + $by } where name = "c" }'


def add(place: Place, number: int, rounds: int) -> int:
    """Add to the counter without reading it and without retrying; answers the sum of what was added."""
    graph = _open(place)
    _together()
    for _ in range(rounds):
        graph.mutate(ADD, {"by": number + 1})
    return rounds * (number + 1)


def skew(place: Place, number: int, rounds: int) -> list[bool]:
    """Even processes delete the node that odd ones draw an edge to; answers in which rounds it was accepted."""
    graph, done = _open(place), []
    for turn in range(rounds):
        _together()
        try:
            if number % 2 == 0:
                deleted = graph.mutate("query gone($n: String) { delete Person where name = $n }", {"n": f"t{turn}"})
                done.append(deleted.affected_nodes == 1)
            else:
                edge = 'query draw($n: String) { insert Knows { from: "hub", to: $n } }'
                graph.mutate(edge, {"n": f"t{turn}"})
                done.append(True)
        except (ViolationError, ReadSetConflict, ContentionError):
            done.append(False)
    return done


def fill_own_table(place: Place, number: int, rounds: int) -> int:
    graph = _open(place)
    _together()
    for turn in range(rounds):
        graph.mutate(f"query add($n: String) {{ insert T{number} {{ name: $n }} }}", {"n": f"n{turn}"})
    return rounds


def fill_own_branch(place: Place, number: int, rounds: int) -> int:
    graph = _open(place)
    _together()
    graph.create_branch(f"b{number}")
    for turn in range(rounds):
        graph.mutate(INSERT_PERSON, {"name": f"b{number}n{turn}", "email": "same"}, branch=f"b{number}", name="add")
        graph.mutate('query gone() { delete Person where email = "same" }', branch=f"b{number}")
    graph.mutate(INSERT_PERSON, {"name": f"b{number}", "email": "same"}, branch=f"b{number}")
    return rounds


def once(place: Place, number: int, rounds: int) -> list[str]:
    """Write under the same idempotency key as everybody else; answers the commits."""
    graph, commits = _open(place), []
    for turn in range(rounds):
        _together()
        name = {"name": f"r{turn}w{number}", "email": None}
        commit = graph.mutate(INSERT_PERSON, name, idempotency_key=f"job {turn}").commit
        assert commit is not None
        commits.append(commit.id)
    return commits


def create(place: Place, number: int, rounds: int) -> list[str | None]:
    """Make the same graphs as everybody else; answers the ids of those it made."""
    uri, options = place
    made: list[str | None] = []
    for turn in range(rounds):
        _together()
        try:
            made.append(omnigraph.create(f"{uri}-{turn}", SCHEMA, storage_options=options, durability="os").id)
        except (AlreadyExistsError, StorageError):
            made.append(None)
    return made


def rename(place: Place, number: int, rounds: int) -> list[str | None]:
    """Give the branch of each round a name of one's own; answers the names that were given."""
    graph, given = _open(place), []
    for turn in range(rounds):
        _together()
        try:
            graph.rename_branch(f"b{turn}", f"b{turn}w{number}")
            given.append(f"b{turn}w{number}")
        except NotFoundError:
            given.append(None)
    return given


def recreate(place: Place, number: int, rounds: int) -> list[tuple[str, str]]:
    """Even processes delete and make the branch again, odd ones write to it; answers where they wrote what."""
    graph, written = _open(place), []
    _together()
    for turn in range(rounds):
        try:
            if number % 2 == 0:
                graph.delete_branch("b")
                graph.create_branch("b")
                strangers = foreign_commits(graph)
                assert not strangers, f"commits of a deleted branch: {strangers}"
            else:
                name = f"w{number}r{turn}"
                commit = graph.mutate(INSERT_PERSON, {"name": name, "email": None}, branch="b").commit
                assert commit is not None
                written.append((commit.manifest.incarnation, commit.id))
        except (NotFoundError, AlreadyExistsError, ContentionError):
            pass
    return written


def foreign_commits(graph: Graph) -> list[str]:
    """Commits that the branch shows although they were made neither on it nor on main."""
    try:
        snapshot = graph.snapshot("b")
        own = {snapshot.state.incarnation, graph.id}
        return [commit.id for commit in snapshot.state.commits if commit.manifest.incarnation not in own]
    except NotFoundError:
        return []
