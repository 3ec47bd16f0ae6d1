"""Workloads of the race tests. A step may fail only if it takes longer than the grace period."""

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
class WorkerReport:
    """Steps and errors of one worker process."""

    steps: int = 0
    longest: float = 0.0
    errors: list[str] = field(default_factory=list)
    """Of steps that took less than the grace period."""
    people: dict[str, int] = field(default_factory=dict)
    """The people that the worker left on main, with their ages."""

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


def write(uri: str, number: int, steps: int, grace: float) -> WorkerReport:
    """Write to main and to branches of its own."""
    graph, choose, report = omnigraph.open(uri, durability="os"), random.Random(number), WorkerReport()
    branches: list[str] = []
    actions: list[Callable[[], None]] = [
        *[lambda: _insert(graph, choose, report, number)] * 4,
        *[lambda: _change(graph, choose, report)] * 2,
        lambda: _replace_notes(graph, number, report),
        lambda: _branch(graph, choose, branches, f"w{number}-{report.steps}"),
    ]
    for _ in range(steps):
        with report.step("write", grace, ContentionError, ReadSetConflict, HistoryCleaned):
            choose.choice(actions)()
    return report


def _insert(graph: Graph, choose: random.Random, report: WorkerReport, number: int) -> None:
    name, age = f"w{number}-{report.steps}", choose.randrange(100)
    graph.mutate(INSERT, {"name": name, "age": age})
    report.people[name] = age


def _change(graph: Graph, choose: random.Random, report: WorkerReport) -> None:
    if not report.people:
        return
    name = choose.choice(sorted(report.people))
    if choose.random() < 0.3:
        graph.mutate(DELETE, {"name": name})
        del report.people[name]
    else:
        age = choose.randrange(100)
        graph.mutate(UPDATE, {"name": name, "age": age})
        report.people[name] = age


def _replace_notes(graph: Graph, number: int, report: WorkerReport) -> None:
    notes = [{"type": "Note", "data": {"text": f"w{number}-{report.steps}-{turn}"}} for turn in range(5)]
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


def read(uri: str, number: int, steps: int, grace: float) -> WorkerReport:
    """Hold snapshots for half of the grace period, and read them twice."""
    graph, choose, report = omnigraph.open(uri, durability="os"), random.Random(number), WorkerReport()
    for _ in range(steps):
        # A branch may be deleted, and a commit given up, right before somebody wants to read it.
        with report.step("read", grace, HistoryCleaned, NotFoundError):
            at = choose.choice([None, *(commit.id for commit in graph.commits(limit=4))])
            branch = choose.choice([info.name for info in graph.branches()]) if at is None else None
            snapshot = graph.snapshot(branch, at=at)
            before = b"".join(snapshot.export())
            time.sleep(choose.random() * grace / 2)
            assert b"".join(pickle.loads(pickle.dumps(snapshot)).export()) == before
    return report
