"""Reads that do work, with reader processes: throughput of one and of two readers, and where the processor time goes.

    python -m benchmarks.server_readers [--rounds 5] [--clients 4 8 16] [--readers 0 1 2] [--loose]

A query of some milliseconds with a small answer shows what readers add: the front only passes it on. All servers run
at the same time and are measured in turns. Every reader is bound to a core of its own (unless ``--loose``), because
Arrow and Lance use idle cores from within one query, and then a single reader would have the cores of two.
``with work`` is the part of the time in which the readers ran or waited for a core: 100 % means that dispatch left
none of them idle. Cores are shared with front, clients and other programs, so ``on idle cores`` is computed: readers x
their part with work / their processor time of a request, compared with one reader.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.server import QUERIES, Client, build, measure
from benchmarks.server_floor import started

WORK = {
    "groups of two hops": "query q() { match { $p: Person $p knows $o $o knows $x $x.age > $p.age } "
    "return { $p.age, avg($x.age) as mean } order { mean desc } limit 5 }",
    "walk of six hops": "query q($n: String) { match { $p: Person {name: $n} $p knows{1,6} $o } "
    "return { count(distinct $o) as n } }",
}
QUERIES.update(WORK)
START_SECONDS = 60.0


class Used(NamedTuple):
    """Seconds that the threads of a process have run, and have waited for a core, from the scheduler."""

    ran: float
    waited: float

    @classmethod
    def of(cls, process: int) -> Used:
        fields = [path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/schedstat")]
        return cls(sum(int(ran) for ran, *_ in fields) / 1e9, sum(int(waited) for _, waited, _ in fields) / 1e9)

    def since(self, before: Used) -> Used:
        return Used(self.ran - before.ran, self.waited - before.waited)


@dataclass(frozen=True)
class Cell:
    """One turn of one server."""

    per_second: float
    p50_ms: float
    p99_ms: float
    front_ms: float
    readers_ms: float
    clients_ms: float
    with_work: float
    """Part of the time of all readers in which one ran, or was ready to run."""

    @classmethod
    def median(cls, cells: Sequence[Cell]) -> Cell:
        return cls(*(statistics.median(values) for values in zip(*map(Cell._values, cells), strict=True)))

    def _values(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def on_idle_cores(self, readers: int) -> float:
        """Requests a second of readers that never wait for a core."""
        return readers * self.with_work / self.readers_ms * 1000


class Server:
    """A server with readers, each on a core of its own."""

    def __init__(self, stack: ExitStack, path: Path, readers: int, *, is_bound: bool) -> None:
        serve = ["omnigraph", "serve", f"kb={path}", "--bind", "127.0.0.1:0", "--unauthenticated"]
        self.readers = readers
        self._front, self.port = stack.enter_context(started([*serve, "--readers", str(readers)]))
        self._pids = _readers_of(self._front, readers)
        for number, process in enumerate(self._pids if is_bound else ()):
            for thread in os.listdir(f"/proc/{process}/task"):
                os.sched_setaffinity(int(thread), {number % (os.cpu_count() or 1)})

    def turn(self, operation: str, clients: int) -> Cell:
        """Let some clients ask for a while."""
        before = [Used.of(process) for process in (self._front, *self._pids)]
        own, began = time.process_time(), time.perf_counter()
        measured = measure(lambda: Client(self.port, operation), clients, time.process_time)
        seconds, own = time.perf_counter() - began, time.process_time() - own
        count = own * 1000 / measured.processor_ms
        front, *readers = (
            Used.of(process).since(used) for process, used in zip((self._front, *self._pids), before, strict=True)
        )
        return Cell(
            measured.per_second,
            measured.p50_ms,
            measured.p99_ms,
            front.ran * 1000 / count,
            sum(used.ran for used in readers) * 1000 / count,
            measured.processor_ms,
            # Threads of one reader may wait at the same time.
            statistics.mean([min(1.0, sum(used) / seconds) for used in readers]) if readers else 0.0,
        )


def _readers_of(front: int, count: int) -> list[int]:
    """The readers of a server, when all of them have loaded their libraries."""
    ends = time.monotonic() + START_SECONDS
    while True:
        children = Path(f"/proc/{front}/task/{front}/children").read_text().split()
        found = [int(child) for child in children]
        # A reader starts the threads of its channels when it is ready.
        if len(found) >= count and all(len(os.listdir(f"/proc/{child}/task")) > 4 for child in found):
            return found
        assert time.monotonic() < ends, f"{len(found)} of {count} readers have started"
        time.sleep(0.05)


def rows(servers: Sequence[Server], operation: str, rounds: int, clients: Sequence[int]) -> None:
    """Measure all servers in turns, and print their rows."""
    found: dict[tuple[int, int], list[Cell]] = {}
    for server in servers:
        # Every reader opens the graph, and brings what the query reads into memory.
        for _ in range(20 * max(1, server.readers)):
            Client(server.port, operation)()
        server.turn(operation, max(clients))
    for _ in range(rounds):
        for count in clients:
            for server in servers:
                found.setdefault((count, server.readers), []).append(server.turn(operation, count))
    medians = {key: Cell.median(cells) for key, cells in found.items()}
    for (count, readers), cell in medians.items():
        one = medians.get((count, 1))
        scaled = _scaled(cell, one, readers)
        print(
            f"| {operation} | {readers} | {count} | {cell.per_second:.1f} | {cell.p50_ms:.1f} | {cell.p99_ms:.1f} "
            f"| {cell.front_ms:.2f} | {cell.readers_ms:.2f} | {cell.clients_ms:.2f} | {scaled} |",
            flush=True,
        )


def _scaled(cell: Cell, one: Cell | None, readers: int) -> str:
    if not readers or one is None:
        return "- | - | -"
    ideal: Callable[[Cell, int], float] = Cell.on_idle_cores
    return f"{cell.with_work:.0%} | {cell.per_second / one.per_second:.2f} | {ideal(cell, readers) / ideal(one, 1):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--readers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--loose", action="store_true", help="let readers use every core")
    parser.add_argument("--queries", nargs="+", default=list(WORK), choices=sorted(QUERIES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "kb.omni"
        build(path)
        servers = [Server(stack, path, readers, is_bound=not given.loose) for readers in given.readers]
        print(
            "| query | readers | clients | requests/s | p50 ms | p99 ms | front ms | readers ms | clients ms "
            "| with work | of one reader | on idle cores |"
        )
        print("|" + "---|" * 12)
        for operation in given.queries:
            rows(servers, operation, given.rounds, given.clients)


if __name__ == "__main__":
    main()
