"""Fixtures of the concurrency tests: the location of the graph, and a pool of processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.graph import Graph
from tests.promises.concurrency import workers
from tests.support.faults.fixtures import s3_bucket, s3_server
from tests.support.faults.s3 import Bucket, Server

__all__ = ["s3_bucket", "s3_server"]

PROCESSES = 8


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Eight processes, started afresh: Lance does not survive a fork."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, context, workers.start, (barrier,)) as executor:
        yield executor


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> workers.Place:
    if request.param == "local":
        return str(tmp_path / "graph"), None
    server: Server = request.getfixturevalue("s3_server")
    bucket: Bucket = request.getfixturevalue("s3_bucket")
    return bucket.uri("graph"), server.storage_options()


@pytest.fixture
def graph(place: workers.Place) -> Graph:
    uri, options = place
    return omnigraph.create(uri, workers.SCHEMA, storage_options=options, durability="os")


@pytest.fixture
def everywhere(pool: ProcessPoolExecutor, place: workers.Place) -> Callable[..., list[Any]]:
    """Run a worker in all processes at once; its answers in the order of their numbers."""

    def run(worker: Callable[[workers.Place, int, int], Any], rounds: int) -> list[Any]:
        futures = [pool.submit(worker, place, number, rounds) for number in range(PROCESSES)]
        return [future.result() for future in futures]

    return run
