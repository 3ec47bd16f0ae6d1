"""Commits a second of writers that share one branch: threads, processes, and threads in a bucket with latency.

    python -m benchmarks.writers [--seconds 8] [--latency 0.03]

Every writer inserts single rows into one table as fast as it can. The bucket is a process of its own
that answers after the latency (``light_bucket``); a wave is a round of requests that are under way together.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import Event, Semaphore
from typing import Any

from benchmarks.light_bucket import light_bucket
from omnigraph.engine.graph import Graph, create, open_graph

SCHEMA = "node Person { name: String @key\n age: I64? }"
INSERT = "query add($name: String) { insert Person { name: $name, age: 1 } }"


def insert_for(graph: Graph, writer: str, seconds: float) -> int:
    """Insert rows for some seconds; returns how many."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        graph.mutate(INSERT, {"name": f"{writer}-{count}"})
        count += 1
    return count


def in_threads(graph: Graph, threads: int, seconds: float) -> list[int]:
    """Commits of each thread."""
    counts: list[int] = []
    started = [
        threading.Thread(target=lambda number=number: counts.append(insert_for(graph, f"t{number}", seconds)))
        for number in range(threads)
    ]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return counts


def _process(uri: str, number: int, seconds: float, ready: Semaphore, go: Event, results: Any) -> None:
    graph = open_graph(uri)
    # Names of an earlier run of the same number exist already: its inserts would change nothing, and cost little.
    writer = f"p{number}-{os.getpid()}"
    insert_for(graph, f"warm-{writer}", 0.2)
    ready.release()
    go.wait()
    began = time.process_time()
    results.put((insert_for(graph, writer, seconds), time.process_time() - began))


def in_processes(uri: str, processes: int, seconds: float) -> tuple[list[int], float]:
    """Commits of each process, and the processor seconds of all."""
    context: SpawnContext = multiprocessing.get_context("spawn")
    ready, go, results = context.Semaphore(0), context.Event(), context.Queue()
    children = [
        context.Process(target=_process, args=(uri, number, seconds, ready, go, results)) for number in range(processes)
    ]
    for child in children:
        child.start()
    for _ in children:
        ready.acquire()
    go.set()
    found = [results.get() for _ in children]
    for child in children:
        child.join()
    return [count for count, _ in found], sum(used for _, used in found)


def row(case: str, counts: list[int], seconds: float, processor: float | None = None, waves: int | None = None) -> str:
    total = sum(counts)
    used = "" if processor is None else f"{1000 * processor / total:.1f}"
    rounds = "" if waves is None else f"{waves / total:.2f}"
    return f"| {case} | {total / seconds:.0f} | {min(counts)} to {max(counts)} | {used} | {rounds} |"


def on_disk(measure: Callable[[Graph, str], str]) -> str:
    directory = tempfile.mkdtemp()
    try:
        uri = f"{directory}/g"
        graph = create(uri, SCHEMA)
        insert_for(graph, "first", 0.5)
        return measure(graph, uri)
    finally:
        shutil.rmtree(directory)


def threads_on_disk(threads: int, seconds: float) -> str:
    def measure(graph: Graph, uri: str) -> str:
        began = time.process_time()
        counts = in_threads(graph, threads, seconds)
        return row(f"{threads} threads, disk", counts, seconds, time.process_time() - began)

    return on_disk(measure)


def processes_on_disk(processes: int, seconds: float) -> str:
    def measure(graph: Graph, uri: str) -> str:
        counts, used = in_processes(uri, processes, seconds)
        return row(f"{processes} processes, disk", counts, seconds, used)

    return on_disk(measure)


def threads_in_bucket(threads: int, seconds: float, latency: float) -> str:
    with light_bucket() as bucket:
        graph = create(bucket.uri, SCHEMA, storage_options=bucket.options)
        for number in range(3):
            graph.mutate(INSERT, {"name": f"first-{number}"})
        bucket.reset(latency)
        began, used = time.monotonic(), time.process_time()
        counts = in_threads(graph, threads, seconds)
        took, used = time.monotonic() - began, time.process_time() - used
        _, waves = bucket.reset(0.0)
    return row(f"{threads} threads, bucket at {1000 * latency:.0f} ms", counts, took, used, waves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--latency", type=float, default=0.03)
    arguments, _ = parser.parse_known_args()
    print("| Writers | commits/s | commits of a writer | processor ms a commit | waves a commit |")
    print("|---|---|---|---|---|")
    for threads in (1, 16):
        print(threads_on_disk(threads, arguments.seconds), flush=True)
    for processes in (1, 2, 8):
        print(processes_on_disk(processes, arguments.seconds), flush=True)
    for threads in (1, 32):
        print(threads_in_bucket(threads, arguments.seconds, arguments.latency), flush=True)


if __name__ == "__main__":
    main()
