"""Batches that race are serialisable: one of those that meet wins, and the others name the tables that moved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lance_namespace as ln
import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.namespace import OmnigraphNamespace, TableConflicts, commit, stage
from tests.features.namespace.staged import KNOWS, NOTE, PERSON, current, edges, rows

Batch = Callable[[OmnigraphNamespace], list[Any]]
"""The writes that one program stages."""


def race(graph: Graph, batches: Sequence[Batch]) -> list[str | ln.LanceNamespaceError]:
    """Stage all batches on one state, each with a client of its own, and commit them at the same moment."""
    together = threading.Barrier(len(batches))

    def run(batch: Batch) -> str | ln.LanceNamespaceError:
        namespace = OmnigraphNamespace(omnigraph.open(graph.uri))
        staged = batch(namespace)
        together.wait(timeout=60)
        try:
            return commit(namespace, staged)
        except ln.LanceNamespaceError as error:
            return error

    with ThreadPoolExecutor(len(batches)) as clients:
        return list(clients.map(run, batches))


def test_of_batches_that_share_a_table_one_wins(graph: Graph) -> None:
    def batch(number: int) -> Batch:
        other = [KNOWS, NOTE][number % 2]
        return lambda namespace: [
            stage(namespace, PERSON, rows(f"new{number}")),
            stage(namespace, other, edges(("p1", f"p{number}")) if other is KNOWS else notes(number)),
        ]

    outcomes = race(graph, [batch(number) for number in range(6)])

    won = [outcome for outcome in outcomes if isinstance(outcome, str)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, TableConflicts)]
    assert (len(won), len(lost)) == (1, 5)
    assert graph.snapshot().commit_id == won[0]
    # Every loser names the table that all share; the other one only if the winner changed it too.
    changed = {change.key for change in graph.commit(won[0]).tables}
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, TableConflicts):
            own = {"node:Person", ["edge:Knows", "node:Note"][number % 2]}
            assert outcome.tables.keys() == own & changed
            assert outcome.tables["node:Person"] == [2, 3]
    assert graph.snapshot().counts()["node:Person"] == 21
    assert not graph.verify(deep=True).problems


def notes(*numbers: int) -> pa.Table:
    return pa.table({"id": [f"n{number}" for number in numbers], "text": [f"note {number}" for number in numbers]})


def test_batches_on_disjoint_tables_all_win(graph: Graph) -> None:
    outcomes = race(
        graph,
        [
            lambda namespace: [stage(namespace, PERSON, rows("ann"))],
            lambda namespace: [stage(namespace, KNOWS, edges(("p3", "p4")))],
            lambda namespace: [stage(namespace, NOTE, notes(1))],
        ],
    )

    assert all(isinstance(outcome, str) for outcome in outcomes)
    assert graph.snapshot().counts() == {"edge:Knows": 2, "node:Note": 1, "node:Person": 21}
    assert not graph.verify(deep=True).problems


@pytest.mark.parametrize("node", ["p3", "p4", "p5"])
def test_batches_on_disjoint_tables_never_leave_an_edge_without_its_node(graph: Graph, node: str) -> None:
    """Write skew: each batch is right on the state it was staged on, and both together would not be."""
    deleted, added = race(
        graph,
        [
            lambda namespace: [stage(namespace, PERSON, delete=f"id = '{node}'")],
            lambda namespace: [stage(namespace, KNOWS, edges(("p1", node)))],
        ],
    )

    assert isinstance(deleted, str) != isinstance(added, str)
    loser = added if isinstance(deleted, str) else deleted
    assert isinstance(loser, ln.TableSchemaValidationError), loser
    assert node in str(loser)
    assert not graph.verify(deep=True).problems


def test_batches_that_retry_lose_no_update(graph: Graph) -> None:
    """Every batch counts one person's age up and adds a note: the two stay equal whatever meets."""
    workers, rounds = 3, 3

    def work(worker: int) -> int:
        namespace = OmnigraphNamespace(omnigraph.open(graph.uri))
        conflicts = 0
        for number in range(rounds):
            while True:
                person = stage(namespace, PERSON, update={"age": "age + 1"}, where="id = 'p0'")
                try:
                    commit(namespace, [person, stage(namespace, NOTE, notes(worker * rounds + number))])
                    break
                except TableConflicts:
                    conflicts += 1
                    assert conflicts < 1000
        return conflicts

    with ThreadPoolExecutor(workers) as clients:
        list(clients.map(work, range(workers)))

    namespace = OmnigraphNamespace(graph)
    assert current(namespace, PERSON).to_table(filter="id = 'p0'").column("age").to_pylist() == [workers * rounds]
    assert graph.snapshot().counts()["node:Note"] == workers * rounds
    assert len(list(graph.commits())) == 2 + workers * rounds
    assert not graph.verify(deep=True).problems
