"""Growth curves: what a commit and a read cost as the history and the data of a graph grow.

    python -m benchmarks.growth            # measures, writes benchmarks/growth.json, and draws
    python -m benchmarks.growth --draw      # draws the pictures of docs/images from that file

One process writes one-row commits, and every age is also read by processes of their own: first cold, then warm.
Processor time is of a graph on a local disk (``durability="os"``); requests are counted by the S3 server of the tests,
in a bucket that has the same history. Commits are averaged over two whole cycles of the commit log.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import growth_pictures
from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create, open_graph
from tests.support.faults.s3 import Server

SCHEMA = "node Person { name: String @key\n age: I64? }\nedge Knows: Person -> Person\n"
INSERT = "query add($name: String) { insert Person { name: $name, age: 1 } }"
POINT = "query one($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
HOP = "query hop($name: String) { match { $p: Person { name: $name } $p knows $f } return { $f.name, $f.age } }"

AGES, QUICK_AGES = (10, 100, 1_000, 10_000), (10, 100)
SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (1_000, 10_000)
PEOPLE = 1_000
"""People of a graph whose history grows."""
EDGES_PER_PERSON = 2
WINDOW = 2 * Tuning().recent_commits_max
READS, COUNTED_READS = 300, 20
COLD_READS, COUNTED_COLD_READS = 3, 1
"""Times vary, requests do not."""
MEMORY_COMMITS, MEMORY_STEPS = 6_000, 12
FILLING_THREADS = 32
"""Threads that give a bucket its history: the requests of its server, not its age, would take most of the time."""

RESULTS = Path(__file__).with_name("growth.json")
SECTIONS = ("history milliseconds", "data milliseconds", "history requests", "data requests", "memory")
Curves = dict[str, list[float]]
Section = dict[str, Any]


def fill(graph: Graph, people: int) -> None:
    numbers = range(people)
    graph.load(pa.table({"name": [f"p{number}" for number in numbers], "age": list(numbers)}), type_name="Person")
    ends = [(number, (number * 7919 + step) % people) for number in numbers for step in range(1, EDGES_PER_PERSON + 1)]
    edges = {"from": [f"p{start}" for start, _ in ends], "to": [f"p{end}" for _, end in ends]}
    graph.load(pa.table(edges), type_name="Knows")
    graph.optimize()


def resident_bytes() -> int:
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return next(int(line[1]) * 1024 for line in lines if line[0] == "VmRSS:")


def insert(graph: Graph, first: int, count: int) -> None:
    for number in range(first, first + count):
        graph.mutate(INSERT, {"name": f"n{number}"})


def insert_in_threads(graph: Graph, first: int, count: int) -> None:
    share = -(-count // FILLING_THREADS)
    starts = range(first, first + count, share)
    threads = [threading.Thread(target=insert, args=(graph, at, min(share, first + count - at))) for at in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read(graph: Graph, query: str, first: int, count: int) -> None:
    for number in range(first, first + count):
        assert len(graph.query(query, {"name": f"p{number % PEOPLE}"}).to_pylist()) in (1, EDGES_PER_PERSON)


def settle(_: Graph) -> None:
    """Wait for neighbour lists that are built in the background: they are made once, not by the reads beside them."""
    for thread in threading.enumerate():
        if thread.name == "omnigraph-topology":
            thread.join()


@dataclass
class _Served:
    """The graph of a worker process and the steps that it can do."""

    uri: str
    options: dict[str, str]
    graph: Graph | None = None

    def open(self) -> None:
        self.graph = open_graph(self.uri, storage_options=self.options, durability="os")

    def do(self, order: str, *values: Any) -> None:
        work = {"insert": insert, "insert in threads": insert_in_threads, "read": read, "settle": settle}
        if self.graph is None:
            self.open()
        if order in work:
            assert self.graph is not None
            work[order](self.graph, *values)


def _serve(uri: str, options: dict[str, str], pipe: Connection) -> None:
    with tempfile.TemporaryDirectory() as directory:
        # Imports of the first query belong to the process, not to the graph.
        first = create(f"{directory}/first", SCHEMA, durability="os")
        first.load([{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(3)])
        first.query(HOP, {"name": "p0"}).to_pylist()
        read(first, POINT, 0, 3)
        del first
    gc.collect()
    served = _Served(uri, options)
    pipe.send(None)
    while (order := pipe.recv()) is not None:
        began = time.process_time()
        served.do(*order)
        pipe.send((time.process_time() - began, resident_bytes()))


@dataclass
class Worker:
    """A process with the graph, driven step by step, so that the requests of a step can be counted here."""

    pipe: Connection
    memory: int = 0

    def do(self, *order: Any) -> float:
        """Processor seconds of a step."""
        self.pipe.send(order)
        seconds, self.memory = self.pipe.recv()
        return float(seconds)


@contextmanager
def worker(uri: str, options: dict[str, str]) -> Iterator[Worker]:
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(uri, options, theirs))
    process.start()
    pipe.recv()
    try:
        yield Worker(pipe)
    finally:
        pipe.send(None)
        process.join()


@dataclass
class Measured:
    """Curves of one graph. A step is measured in ``requests`` if there is a server, else in milliseconds."""

    uri: str
    server: Server | None = None
    curves: Curves = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        return {} if self.server is None else self.server.storage_options()

    def _cost(self, process: Worker, *order: Any) -> float:
        if self.server is None:
            return 1000 * process.do(*order)
        with self.server.proxy.recording() as log:
            process.do(*order)
        return len(log.requests())

    def _add(self, curve: str, cost: float) -> None:
        self.curves.setdefault(curve, []).append(round(cost, 4))

    def writes(self, writer: Worker, first: int) -> None:
        self._add("one-row commit", self._cost(writer, "insert", first, WINDOW) / WINDOW)

    def reads(self) -> None:
        """Costs of reads, cold and warm, in processes of their own."""
        rounds, count = (COLD_READS, READS) if self.server is None else (COUNTED_COLD_READS, COUNTED_READS)
        cold = []
        for number in range(rounds):
            with worker(self.uri, self.options) as reader:
                cold.append(self._cost(reader, "read", POINT, number, 1))
                if number < rounds - 1:
                    continue
                for name, query in (("point read", POINT), ("one hop", HOP)):
                    # The reads before also begin the neighbour lists, once there were enough of them.
                    reader.do("read", query, 0, count)
                    reader.do("settle")
                    self._add(name, self._cost(reader, "read", query, count, count) / count)
        self._add("open and first read", sorted(cold)[len(cold) // 2])


def over_history(measured: Measured, ages: Sequence[int]) -> None:
    with worker(measured.uri, measured.options) as writer:
        made = 0
        for age in ages:
            writer.do("insert" if measured.server is None else "insert in threads", made, age - made)
            made = age
            measured.writes(writer, made)
            made += WINDOW
            measured.reads()
            print(f"{measured.uri[:3]} {made} commits: {measured.curves}", flush=True)


def over_data(measured: Measured, people: int) -> None:
    with worker(measured.uri, measured.options) as writer:
        writer.do("insert", 0, 20)
        measured.writes(writer, 20)
    measured.reads()
    print(f"{measured.uri[:3]} {people} people: {measured.curves}", flush=True)


def history(directory: str, server: Server | None, ages: Sequence[int]) -> Curves:
    measured = Measured(server.bucket().uri("g") if server else f"{directory}/history", server)
    fill(create(measured.uri, SCHEMA, storage_options=measured.options, durability="os"), PEOPLE)
    over_history(measured, ages)
    return measured.curves


def memory(directory: str, commits: int) -> list[list[int]]:
    """Resident bytes of a process that only writes, after numbers of commits."""
    uri, held = f"{directory}/memory", []
    fill(create(uri, SCHEMA, durability="os"), PEOPLE)
    with worker(uri, {}) as writer:
        for made in range(0, commits, commits // MEMORY_STEPS):
            writer.do("insert", made, commits // MEMORY_STEPS)
            held.append([made + commits // MEMORY_STEPS, writer.memory])
            print(held[-1], flush=True)
    return held


def data(directory: str, server: Server | None, sizes: Sequence[int]) -> Curves:
    curves: Curves = {}
    for people in sizes:
        uri = server.bucket().uri("g") if server else f"{directory}/data-{people}"
        measured = Measured(uri, server, curves)
        fill(create(uri, SCHEMA, storage_options=measured.options, durability="os"), people)
        over_data(measured, people)
    return curves


def measure(section: str, directory: str, ages: Sequence[int], sizes: Sequence[int]) -> Section:
    if section == "memory":
        return {section: memory(directory, MEMORY_COMMITS if ages == AGES else max(ages))}
    with ExitStack() as stack:
        server = stack.enter_context(closing(Server.start())) if section.endswith("requests") else None
        if section.startswith("data"):
            return {section: data(directory, server, sizes), "people": list(sizes)}
        return {section: history(directory, server, ages), "commits": list(ages)}


def main(sections: Sequence[str] = SECTIONS, ages: Sequence[int] = AGES, sizes: Sequence[int] = SIZES) -> None:
    """Measure sections, and replace them in the file as each of them ends."""
    for section in sections:
        found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        with tempfile.TemporaryDirectory(prefix="omnigraph-growth-") as directory:
            found |= measure(section, directory, ages, sizes)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    growth_pictures.draw(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"only some of: {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="short histories and small graphs; draws nothing")
    parser.add_argument("--draw", action="store_true", help="only draw the recorded numbers")
    arguments = parser.parse_args()
    if arguments.draw:
        growth_pictures.draw(json.loads(RESULTS.read_text()))
    elif arguments.quick:
        for name in arguments.sections or SECTIONS:
            with tempfile.TemporaryDirectory(prefix="omnigraph-growth-") as directory:
                print(measure(name, directory, QUICK_AGES, QUICK_SIZES))
    else:
        main(arguments.sections or SECTIONS)
