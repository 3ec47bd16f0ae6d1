"""Requests over HTTP beside the same calls in process: throughput, latency, and processor time per request.

    python -m benchmarks server

Every combination of operation, number of clients and number of readers runs against a server of its own process for a
few seconds. Processor time is that of the server's processes, without the clients. On a busy machine only ratios count.
``benchmarks.server_floor`` has a point read in parts, ``benchmarks.server_readers`` what readers add to longer reads.
"""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import omnigraph
from benchmarks.processes import processor_seconds
from omnigraph import Graph
from omnigraph.engine.query.result import QueryResult
from omnigraph.wire.http.read_output import read_output_chunks

PEOPLE = 10_000
EDGES_EACH = 6
SECONDS = float(os.environ.get("BENCHMARK_SECONDS", "1.5"))
CLIENTS = (1, 4, 16, 64)
READERS = (0, 1, 2)
SCHEMA = "node Person { name: String @key\n  age: I32? }\nnode Note { text: String }\nedge Knows: Person -> Person"

QUERIES = {
    "point read": "query q($n: String) { match { $p: Person {name: $n} } return { $p.name, $p.age } }",
    "hop": "query q($n: String) { match { $p: Person {name: $n}\n $p knows $o } return { $o.name, $o.age } }",
    "10,000 rows": "query q() { match { $p: Person } return { $p.name, $p.age } }",
    "one-row write": "query q($t: String) { insert Note {text: $t} }",
}
NUMBERS = count()


def params(operation: str) -> dict[str, str]:
    number = next(NUMBERS)
    match operation:
        case "10,000 rows":
            return {}
        case "one-row write":
            return {"t": f"note {number}"}
        case _:
            return {"n": f"p{number * 7919 % PEOPLE}"}


@dataclass(frozen=True)
class Measured:
    """One cell of the table."""

    per_second: float
    p50_ms: float
    p99_ms: float
    processor_ms: float

    def __str__(self) -> str:
        return f"{self.per_second:,.0f} | {self.p50_ms:.2f} | {self.p99_ms:.2f} | {self.processor_ms:.2f}"


def build(path: Path) -> Graph:
    graph = omnigraph.create(path, SCHEMA)
    people = [{"type": "Person", "data": {"name": f"p{n}", "age": n % 90}} for n in range(PEOPLE)]
    edges = [
        {"edge": "Knows", "from": f"p{n}", "to": f"p{(n * 31 + step * 97) % PEOPLE}", "data": {}}
        for n in range(PEOPLE)
        for step in range(1, EDGES_EACH + 1)
    ]
    graph.load([*people, *edges], "merge")
    graph.optimize()
    return graph


def in_process(graph: Graph, operation: str) -> Measured:
    """The same call without HTTP, one at a time, the answer written as JSON."""
    text = QUERIES[operation]
    call = graph.mutate if operation == "one-row write" else graph.query

    def once() -> None:
        result = call(text, params(operation))
        if isinstance(result, QueryResult):
            b"".join(read_output_chunks(result, branch="main", snapshot=None, with_commit=True))

    for _ in range(5):
        once()
    return measure(lambda: once, 1, time.process_time)


def measure(connect: Callable[[], Callable[[], object]], clients: int, used: Callable[[], float]) -> Measured:
    """Repeat a call on several threads until the time is over."""
    times: list[list[float]] = [[] for _ in range(clients)]
    calls = [connect() for _ in range(clients)]
    ends = time.perf_counter() + SECONDS

    def run(call: Callable[[], object], mine: list[float]) -> None:
        while (started := time.perf_counter()) < ends:
            call()
            mine.append(time.perf_counter() - started)

    before, started = used(), time.perf_counter()
    threads = [threading.Thread(target=run, args=pair) for pair in zip(calls, times, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, processor = time.perf_counter() - started, used() - before
    found = sorted(item for mine in times for item in mine)
    return Measured(
        len(found) / seconds,
        statistics.median(found) * 1000,
        found[min(len(found) - 1, int(len(found) * 0.99))] * 1000,
        processor * 1000 / len(found),
    )


class Client:
    """A connection that sends prepared requests and reads answers of a known length: it must cost little itself."""

    def __init__(self, port: int, operation: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._connection.makefile("rb")
        self._operation = operation
        self._path = "/graphs/kb/mutate" if operation == "one-row write" else "/graphs/kb/query"

    def __call__(self) -> None:
        body = json.dumps({"query": QUERIES[self._operation], "params": params(self._operation)}).encode()
        head = f"POST {self._path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        self._connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        status = self._file.readline()
        length = 0
        while (line := self._file.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        content = self._file.read(length)
        assert b" 200 " in status, (status, content)


@contextmanager
def serving(path: Path, readers: int) -> Iterator[tuple[int, Callable[[], float]]]:
    """A server; yields its port and its processor time so far."""
    command = [sys.executable, "-m", "omnigraph", "serve", f"kb={path}", "--bind", "127.0.0.1:0", "--unauthenticated"]
    environment = {**os.environ, "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"}
    process = subprocess.Popen(
        [*command, "--readers", str(readers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline())
        assert found is not None
        yield int(found[1]), lambda: processor_seconds(process.pid)
    finally:
        process.terminate()
        process.communicate()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.omni"
        graph = build(path)
        alone = {operation: in_process(graph, operation) for operation in QUERIES}
        print("| operation | readers | clients | requests/s | p50 ms | p99 ms | processor ms | of the call itself |")
        print("|---|---|---|---|---|---|---|---|")
        for operation, cell in alone.items():
            print(f"| {operation} | in process | 1 | {cell} | 1.00 |")
        for readers in READERS:
            with serving(path, readers) as (port, used):
                for operation in QUERIES:
                    for _ in range(20):
                        Client(port, operation)()
                    for clients in CLIENTS:
                        cell = measure(lambda operation=operation: Client(port, operation), clients, used)  # type: ignore[misc]
                        ratio = cell.processor_ms / alone[operation].processor_ms
                        print(f"| {operation} | {readers} | {clients} | {cell} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
