"""Processes that write one graph at once, die and come back, with maintenance beside them; and what they noted.

Every process has lives: programs that end by themselves, are killed at one of their file system calls, or have one of
them fail, one after the other until enough transactions were acknowledged.
"""

from __future__ import annotations

import errno
import json
import random
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import omnigraph
from tests.promises.crash.cells import CELLS, Cell, describe
from tests.promises.history_checker.client import KEYS, SCHEMA, read_all
from tests.promises.history_checker.transactions import Outcome, Transaction
from tests.support.faults.child import environment, python
from tests.support.faults.fault import FailAt, FileFault, KillAt
from tests.support.faults.tracer import run

_CLIENT, _UPKEEP = (Path(__file__).with_name(name) for name in ("client.py", "upkeep.py"))

CALLS_PER_TRANSACTION = 25
"""About as many file system calls does a commit make; faults are spread over the calls of a life."""

TIMEOUT_S = 1_200.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is done: a process for each branch named, transactions of each, and of each of its lives.

    Clients that do not validate write what they decided from a snapshot whatever happened since: the checker must see.
    """

    branches: Sequence[str]
    transactions: int
    life_transactions: int
    is_validated: bool = True


@dataclass
class Workload:
    """One graph and its clients."""

    directory: Path
    size: Size
    seed: int
    deaths: int = 0
    failures: int = 0
    merges: int = 0
    _lives: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def uri(self) -> Path:
        return self.directory / "graph"

    def run(self) -> list[Transaction]:
        """Make the history."""
        graph = omnigraph.create(self.uri, SCHEMA, durability="os")
        first = self._prepare(graph)
        stop = threading.Event()
        with ThreadPoolExecutor(len(self.size.branches) + 1) as pool:
            upkeep = pool.submit(self._maintain, stop)
            try:
                slots = [pool.submit(self._serve, n, branch) for n, branch in enumerate(self.size.branches)]
                for slot in slots:
                    slot.result()
            finally:
                stop.set()
            upkeep.result()
        noted = [entry for path in sorted(self.directory.glob("*.journal")) for entry in _notes(path)]
        self.merges = sum(commit.kind.value == "merge" for commit in graph.commits())
        return [*first, *noted, *self.final_reads()]

    def final_reads(self) -> list[Transaction]:
        """What a stranger sees of each branch; main first, since it shows the others' lists as they were merged."""
        graph = omnigraph.open(self.uri, durability="os")
        return [self._read(graph, branch) for branch in ("main", *self._others())]

    def _read(self, graph: omnigraph.Graph, branch: str) -> Transaction:
        began = time.monotonic()
        lists, registers = read_all(graph.snapshot(branch))
        tuples = {key: tuple(values) for key, values in lists.items()}
        return Transaction(
            f"final {branch}",
            lists=tuples,
            registers=registers,
            domain=branch,
            began=began,
            ended=time.monotonic(),
        )

    def _others(self) -> list[str]:
        return sorted({*self.size.branches} - {"main"})

    def _prepare(self, graph: omnigraph.Graph) -> list[Transaction]:
        """The branches, and the registers that are written blindly."""
        first = []
        for number, branch in enumerate(("main", *self._others())):
            if branch != "main":
                graph.create_branch(branch)
            values = {f"{branch}:blind{key}": -(number * KEYS + key + 1) for key in range(KEYS)}
            began = time.monotonic()
            rows = [{"type": "Register", "data": {"name": key, "value": value}} for key, value in values.items()]
            graph.load(rows, "append", branch=branch)
            writes = {key: (value,) for key, value in values.items()}
            first.append(
                Transaction(f"first {branch}", writes=writes, domain=branch, began=began, ended=time.monotonic())
            )
        return first

    def _serve(self, number: int, branch: str) -> None:
        """The lives of one client."""
        draw = random.Random(self.seed * 1_000 + number)
        journal = self.directory / f"{number}.journal"
        while (missing := self.size.transactions - _acknowledged(journal)) > 0:
            wanted = min(missing, self.size.life_transactions)
            # Values are unique by life, over all processes.
            life = next(self._lives)
            argv = python(_CLIENT, self.uri, branch, life, wanted, journal, self.size.is_validated)
            self._live(argv, draw, wanted, branch)

    def _maintain(self, stop: threading.Event) -> None:
        draw = random.Random(self.seed)
        while not stop.is_set():
            self._live(python(_UPKEEP, self.uri, 1, *self._others()), draw, 20, "upkeep")

    def _live(self, argv: list[str], draw: random.Random, transactions: int, who: str) -> None:
        position = draw.randint(1, transactions * CALLS_PER_TRANSACTION)
        fault: FileFault | None = draw.choice(
            [None, KillAt(position), KillAt(position, after=True), FailAt(position, errno.EIO)]
        )
        if fault is None:
            process = subprocess.run(
                argv, env=environment(None), timeout=TIMEOUT_S, capture_output=True, text=True, check=False
            )
            assert process.returncode == 0, process.stderr
            return
        result = run(argv, root=self.uri, fault=fault, timeout_s=TIMEOUT_S)
        assert result.killed or result.returncode == 0, result.stderr
        with self._lock:
            self.deaths += result.killed
            self.failures += result.hit is not None and not result.killed
            if result.hit is not None:
                CELLS.add(Cell("local os, eight processes", who, describe(fault)), True)


def _notes(journal: Path) -> Iterable[Transaction]:
    """The transactions of a journal. One without an answer may have happened."""
    begun: dict[str, dict[str, Any]] = {}
    for line in journal.read_bytes().splitlines():
        note = json.loads(line)
        begun[note["name"]] = begun.get(note["name"], {}) | note
    for facts in begun.values():
        yield Transaction(
            facts["name"],
            Outcome(facts.get("outcome", Outcome.UNKNOWN)),
            {key: tuple(values) for key, values in facts.get("lists", {}).items()},
            {key: tuple(values) for key, values in facts.get("appends", {}).items()},
            facts.get("registers", {}),
            {key: tuple(values) for key, values in facts.get("writes", {}).items()},
            facts["domain"],
            facts["began"],
            facts.get("ended", float("inf")),
        )


def _acknowledged(journal: Path) -> int:
    return sum(t.outcome is Outcome.OK for t in _notes(journal)) if journal.exists() else 0
