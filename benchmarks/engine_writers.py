"""Writes of the engine benchmark: small merges into the graph, and processes that share a branch."""

from __future__ import annotations

import shutil
import tempfile

from benchmarks.engine_data import Data, keys
from benchmarks.engine_measure import Cost, Measured, middle, timed
from benchmarks.engine_systems import Omnigraph
from benchmarks.writers import SCHEMA, in_processes, insert_for
from omnigraph.engine.graph import Graph, create

MERGE_SECONDS = 0.06
CHANGES = 100
SOURCE, TARGET = "benchmark-source", "benchmark-target"

WRITERS = 8
SECONDS = 5.0


def merges(data: Data, system: Omnigraph, runs: int) -> list[Measured]:
    """Three-way merges of a hundred changes into the persons, one after the other: the first, and the later ones."""
    graph = system.graph
    people = keys(data.size.persons).to_pylist()
    _drop(graph)
    graph.create_branch(TARGET)
    try:
        found = [_merge(graph, number, people[number :: len(people) // (2 * CHANGES)]) for number in range(runs + 1)]
    finally:
        _drop(graph)
    kinds = (("merge_first", "first", found[:1]), ("merge_second", "second and later", found[1:]))
    return [
        Measured(
            data.size.name,
            name,
            f"{title} three-way merge of {CHANGES} changes",
            f"{MERGE_SECONDS * 1000:g} ms",
            1.0,
            middle([cost for cost, _ in costs]),
            Cost(MERGE_SECONDS, 0.0),
            "equal" if all(is_right for _, is_right in costs) else "WRONG: a change is missing",
        )
        for name, title, costs in kinds
    ]


def _merge(graph: Graph, number: int, people: list[str]) -> tuple[tuple[float, float], bool]:
    graph.create_branch(SOURCE, TARGET)
    for branch, changed in ((SOURCE, people[:CHANGES]), (TARGET, people[CHANGES : 2 * CHANGES])):
        rows = [{"type": "Person", "data": {"key": key, "name": f"renamed {number}"}} for key in changed]
        graph.load(rows, "upsert", branch=branch)
    cost = timed(lambda: graph.merge(SOURCE, TARGET))
    graph.delete_branch(SOURCE)
    names = graph.query(
        "query q($name: String) { match { $p: Person { name: $name } } return { count(*) as n } }",
        {"name": f"renamed {number}"},
        branch=TARGET,
    )
    return cost, names.scalar() == 2 * CHANGES


def _drop(graph: Graph) -> None:
    for branch in graph.branches():
        if branch.name in (SOURCE, TARGET):
            graph.delete_branch(branch.name)


def shared_branch(data: Data) -> list[Measured]:
    """Single inserts by eight processes into one branch against one process, and the slowest against the fastest."""
    directory = tempfile.mkdtemp()
    try:
        insert_for(create(f"{directory}/g", SCHEMA), "first", 0.5)
        [alone], used_alone = in_processes(f"{directory}/g", 1, SECONDS)
        counts, used = in_processes(f"{directory}/g", WRITERS, SECONDS)
    finally:
        shutil.rmtree(directory)
    total = sum(counts)
    return [
        Measured(
            data.size.name,
            "writers",
            f"a commit of {WRITERS} processes that share a branch",
            "one process",
            1.0,
            Cost(SECONDS / total, used / total, total),
            Cost(SECONDS / alone, used_alone / alone, alone),
            "equal",
        ),
        Measured(
            data.size.name,
            "fairness",
            "a commit of the slowest of them",
            "the fastest",
            2.0,
            Cost(SECONDS / min(counts), 0.0),
            Cost(SECONDS / max(counts), 0.0),
            "equal",
        ),
    ]
