"""What the processes of the races do. A step that takes longer than the grace period may fail, every other may not."""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.errors import ContentionError, HistoryCleaned, NotFoundError, ReadSetConflict

SCHEMA = """
node Person { name: String @key
    age: I64? }
node Note { text: String @key }
edge Knows: Person -> Person
"""
INSERT = "query q($name: String, $age: I64) { insert Person { name: $name, age: $age } }"
UPDATE = "query q($name: String, $age: I64) { update Person set { age: $age } where name = $name }"
DELETE = "query q($name: String) { delete Person where name = $name }"


@dataclass
class Told:
    """What a process tells of its steps."""

    steps: int = 0
    longest: float = 0.0
    errors: list[str] = field(default_factory=list)
    """Of steps that took less than the grace period."""
    people: dict[str, int] = field(default_factory=dict)
    """What it left on main."""

    @contextmanager
    def step(self, name: str, grace: float, *allowed: type[Exception]) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        except allowed:
            pass
        except Exception as error:
            if time.monotonic() - begin < grace:
                self.errors.append(f"{name}: {type(error).__name__}: {error}")
        self.steps += 1
        self.longest = max(self.longest, time.monotonic() - begin)


def write(uri: str, number: int, steps: int, grace: float) -> Told:
    """Write to main and to branches of its own."""
    graph, choose, told = omnigraph.open(uri, durability="os"), random.Random(number), Told()
    branches: list[str] = []
    actions: list[Callable[[], None]] = [
        *[lambda: _insert(graph, choose, told, number)] * 4,
        *[lambda: _change(graph, choose, told)] * 2,
        lambda: _replace_notes(graph, number, told),
        lambda: _branch(graph, choose, branches, f"w{number}-{told.steps}"),
    ]
    for _ in range(steps):
        with told.step("write", grace, ContentionError, ReadSetConflict, HistoryCleaned):
            choose.choice(actions)()
    return told


def _insert(graph: Graph, choose: random.Random, told: Told, number: int) -> None:
    name, age = f"w{number}-{told.steps}", choose.randrange(100)
    graph.mutate(INSERT, {"name": name, "age": age})
    told.people[name] = age


def _change(graph: Graph, choose: random.Random, told: Told) -> None:
    if not told.people:
        return
    name = choose.choice(sorted(told.people))
    if choose.random() < 0.3:
        graph.mutate(DELETE, {"name": name})
        del told.people[name]
    else:
        age = choose.randrange(100)
        graph.mutate(UPDATE, {"name": name, "age": age})
        told.people[name] = age


def _replace_notes(graph: Graph, number: int, told: Told) -> None:
    notes = [{"type": "Note", "data": {"text": f"w{number}-{told.steps}-{turn}"}} for turn in range(5)]
    graph.load(notes, "overwrite")


def _branch(graph: Graph, choose: random.Random, branches: list[str], name: str) -> None:
    """A branch from the head or from an older commit, written to; or the end of an earlier one."""
    if len(branches) > 1 or (branches and choose.random() < 0.5):
        graph.delete_branch(branches.pop(0))
        return
    recent = [commit.id for commit in graph.commits(limit=5)]
    graph.create_branch(name, at=choose.choice([None, *recent]))
    branches.append(name)
    for turn in range(2):
        graph.mutate(INSERT, {"name": f"{name}-{turn}", "age": turn}, branch=name)


def read(uri: str, number: int, steps: int, grace: float) -> Told:
    """Hold snapshots for half of the grace period, and read them twice."""
    graph, choose, told = omnigraph.open(uri, durability="os"), random.Random(number), Told()
    for _ in range(steps):
        # A branch may be deleted, and a commit given up, right before somebody wants to read it.
        with told.step("read", grace, HistoryCleaned, NotFoundError):
            at = choose.choice([None, *(commit.id for commit in graph.commits(limit=4))])
            branch = choose.choice([info.name for info in graph.branches()]) if at is None else None
            snapshot = graph.snapshot(branch, at=at)
            before = b"".join(snapshot.export())
            time.sleep(choose.random() * grace / 2)
            assert b"".join(pickle.loads(pickle.dumps(snapshot)).export()) == before
    return told
