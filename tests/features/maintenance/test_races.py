"""Optimize beside four writers that extend indexes themselves, and readers, without interference."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event

import pytest

import omnigraph
from tests.features.maintenance.graphs import SCHEMA, answers, exported, indexes, person, table
from tests.support.tuning import EAGER

WRITERS = 4
KEYS = 400
"""Names that a writer draws from, its own."""
FIND = "query q($age: I32) { match { $p: Person $p.age = $age } return { $p.name } }"
DELETE = "query q($n: String) { delete Person where name = $n }"


SMALL = replace(EAGER, fold_tiers=((4, 4), (16, 2), (40, 2)), extended_rows_min=40, extended_rows_max=320)
"""Fragments are finished, and indexes extended, every few writes."""


def write(graph: omnigraph.Graph, number: int, steps: int) -> dict[str, int]:
    """Inserts, updates and deletions of one writer; the people that it leaves, and their ages."""
    drawn = Random(number)
    model: dict[str, int] = {}
    for _ in range(steps):
        names = [number * KEYS + drawn.randrange(KEYS) for _ in range(drawn.choice([1, 1, 3, 20, 45]))]
        name = f"p{names[0]:04}"
        if name in model and drawn.random() < 0.4:
            graph.mutate(DELETE, {"n": name})
            del model[name]
        else:
            age = drawn.randrange(90)
            graph.load([person(item, age=age) for item in dict.fromkeys(names)], "merge")
            model |= {f"p{item:04}": age for item in names}
    return model


def read(graph: omnigraph.Graph, old: str, ended: Event) -> int:
    """An old commit always says the same, and through an index a commit says what its rows say."""
    expected = answers(graph, at=old), exported(graph, at=old)
    rounds = 0
    while not ended.is_set():
        snapshot = graph.snapshot()
        rows = snapshot.to_arrow("node:Person")
        by_age = Counter(rows["age"].to_pylist())
        for age in (7, 50):
            assert len(graph.query(FIND, {"age": age}, at=snapshot.commit_id).to_pylist()) == by_age[age]
        assert (answers(graph, at=old), exported(graph, at=old)) == expected
        rounds += 1
    return rounds


def optimize(graph: omnigraph.Graph, ended: Event) -> int:
    commits = 0
    while not ended.is_set():
        commits += len(graph.optimize().commits)
        problems = graph.verify(deep=False).problems
        assert problems == (), problems
    return commits


@pytest.mark.parametrize("steps", [8, pytest.param(1_000, marks=pytest.mark.long)])
def test_writers_readers_and_maintenance_do_not_disturb_each_other(tmp_path: Path, steps: int) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=SMALL)
    graph.load([person(number) for number in range(9_000, 9_200)], "append")
    graph.optimize()
    old = graph.snapshot().commit_id
    ended = Event()
    with ThreadPoolExecutor(WRITERS + 2) as pool:
        others: list[Callable[[], int]] = [
            pool.submit(read, omnigraph.open(graph.uri, tuning=SMALL), old, ended).result,
            pool.submit(optimize, omnigraph.open(graph.uri, durability="os", tuning=SMALL), ended).result,
        ]
        writers = [pool.submit(write, graph, number, steps) for number in range(WRITERS)]
        try:
            models = [writer.result() for writer in writers]
        finally:
            ended.set()
        rounds, commits = (other() for other in others)
    print(f"{rounds} rounds of reading, {commits} commits of maintenance")
    assert rounds
    assert commits
    graph.optimize()
    rows = table(graph).to_table(columns=["name", "age"]).to_pylist()
    left = {row["name"]: row["age"] for row in rows if row["name"] < "p9000"}
    assert left == {name: age for model in models for name, age in model.items()}
    assert all(item.is_complete for item in indexes(graph).values())
    for age in range(90):
        found = {row["p.name"] for row in graph.query(FIND, {"age": age}).to_pylist()}
        assert found == {row["name"] for row in rows if row["age"] == age}
    assert graph.verify().is_clean
