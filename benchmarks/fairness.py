"""Swaps that a long write loses beside processes that insert single rows, and what its turn costs them.

`python -m benchmarks.fairness` (`--quick` for fewer processes). The processes write to the same table as fast as they
can. Their rate before the long writes is compared with the rate while one is being made.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any

from omnigraph.engine.graph import Graph, create, open_graph

SCHEMA = "node Person { name: String @key\n age: I64? }"
INSERT = "query q($name: String) { insert Person { name: $name, age: 1 } }"
PEOPLE, CHANGED, ROUNDS = 100_000, 100, 5
BEFORE_SECONDS = 5.0


class LostSwaps(logging.Handler):
    """Counts what the publisher reports."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "was taken by another" in record.getMessage()


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def insert(uri: str, number: int, stop: Any, counts: Any) -> None:
    graph = open_graph(uri)
    while not stop.is_set():
        graph.mutate(INSERT, {"name": f"w{number}-{counts[number]}"})
        counts[number] += 1


@contextmanager
def writing(graph: Graph, processes: int) -> Iterator[Any]:
    context: SpawnContext = multiprocessing.get_context("spawn")
    stop, counts = context.Event(), context.Array("i", processes)
    children = [context.Process(target=insert, args=(graph.uri, n, stop, counts)) for n in range(processes)]
    for child in children:
        child.start()
    try:
        while min(counts) < 5:
            time.sleep(0.1)
        yield counts
    finally:
        stop.set()
        for child in children:
            child.join()


def rate(counts: Any, before: int, began: float) -> float:
    return float((sum(counts) - before) / (time.perf_counter() - began))


def main(processes: int = 8) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-fairness-")
    lost = LostSwaps()
    logger = logging.getLogger("omnigraph.manifest.publisher")
    logger.setLevel(logging.INFO)
    logger.addHandler(lost)
    try:
        graph = create(f"{directory}/g", SCHEMA)
        graph.load([person(f"p{number}", number) for number in range(PEOPLE)])
        for number in range(ROUNDS):
            graph.create_branch(f"b{number}")
            changed = range(number * CHANGED, (number + 1) * CHANGED)
            graph.load([person(f"p{row}", -row) for row in changed], "merge", branch=f"b{number}")
        losses, shares, seconds = [], [], []
        with writing(graph, processes) as counts:
            before, began = sum(counts), time.perf_counter()
            time.sleep(BEFORE_SECONDS)
            alone = rate(counts, before, began)
            for number in range(ROUNDS):
                lost.count, before, began = 0, sum(counts), time.perf_counter()
                graph.merge(f"b{number}")
                seconds.append(time.perf_counter() - began)
                losses.append(lost.count)
                shares.append(rate(counts, before, began) / alone)
    finally:
        logger.removeHandler(lost)
        shutil.rmtree(directory)
    print("| Processes | inserts a second | swaps lost by merges | ms of a merge | rate of the inserts meanwhile |")
    print("|---|---|---|---|---|")
    ms = 1000 * statistics.median(seconds)
    print(f"| {processes} | {alone:.0f} | {losses} | {ms:.0f} | {statistics.median(shares):.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    main(2 if parser.parse_args().quick else 8)
