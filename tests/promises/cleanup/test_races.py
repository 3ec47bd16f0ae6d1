"""Optimize and cleanup against four writing and two reading processes."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph
from omnigraph.engine.graph import Graph
from tests.promises.cleanup import workers
from tests.promises.cleanup.graphs import check_tidy

WRITERS, READERS = 4, 2


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    """Started afresh: Lance does not survive a fork."""
    with ProcessPoolExecutor(WRITERS + READERS, multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.mark.parametrize(
    ("steps", "grace"), [(40, 4.0), pytest.param(1500, 5.0, marks=pytest.mark.long)], ids=["some", "thousands"]
)
def test_nobody_notices_optimize_and_cleanup(
    tmp_path: Path, pool: ProcessPoolExecutor, steps: int, grace: float
) -> None:
    graph = omnigraph.create(tmp_path / "g", workers.SCHEMA, durability="os")
    writers = [pool.submit(workers.write, graph.uri, number, steps, grace) for number in range(WRITERS)]
    readers = [pool.submit(workers.read, graph.uri, number, steps // 8, grace) for number in range(READERS)]
    deleted = _care_until_done(graph, [*writers, *readers], grace)
    reports = [future.result() for future in (*writers, *readers)]
    assert [error for one in reports for error in one.errors] == []
    assert sum(one.steps for one in reports) == WRITERS * steps + READERS * (steps // 8)
    table = omnigraph.open(graph.uri).snapshot().to_arrow("node:Person")
    found = dict(zip(table["name"].to_pylist(), table["age"].to_pylist(), strict=True))
    assert found == {name: age for one in reports for name, age in one.people.items()}
    assert deleted > 0
    graph.cleanup(keep=2, grace="0s")
    check_tidy(graph)


def _care_until_done(graph: Graph, others: list[Future[workers.Told]], grace: float) -> int:
    """Optimize, clean up and verify, round after round; answers how many files were deleted."""
    choose, deleted, rounds = random.Random(0), 0, 0
    while not all(future.done() for future in others):
        graph.optimize()
        result = graph.cleanup(keep=choose.randint(1, 6), grace=timedelta(seconds=grace))
        deleted += result.deleted.files
        report = graph.verify()
        assert report.is_clean, report.problems
        rounds += 1
    print(f"{rounds} rounds, {deleted} files deleted")
    return deleted
