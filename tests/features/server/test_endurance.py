"""A mixed run of many clients over every operation: only answers of the contract, and memory and handles stay flat."""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.server.roads import Lane
from tests.features.server.conftest import STORED
from tests.features.server.kills import ALONE, LANES, Server, Turn, reader_pids, served_graph
from tests.features.server.live import BASE, queries_of, running, serving_of
from tests.features.server.requests import SAMPLES

CLIENTS = 64
REQUESTS = int(os.environ.get("ENDURANCE_REQUESTS", "50000"))
POINT = {"query": "query q($n: String) { match { $p: Person {name: $n} } return { $p.name, $p.age } }"}
HOP = {"query": "query q($n: String) { match { $p: Person {name: $n} $p knows $q } return { $q.name } }"}
LEFT_OUT = ALONE | {"listGraphs", "verify", "optimize"}
"""Operations that an open server denies, or that every client at once would only queue up for."""
RARE = {
    "cluster_listCommits": 0.1,
    "cluster_captureChangeBaseline": 0.3,
    "cluster_export": 0.3,
    "getSample": 0.3,
    "listJobs": 0.1,
    "loadAsJob": 0.3,
}
"""Weights of operations whose answers grow with the history, or that run long."""

ALLOWED = {200, 202, 304, 409, 412, 429}
"""Success, a conflict between writers, a head that has moved, and a full queue."""
MISSING = {name for name, sample in SAMPLES.items() if sample.is_missing}
"""Operations whose samples ask for something that does not exist."""


class Mix:
    """One client that sends any request at random, until all clients together have sent enough."""

    def __init__(self, address: str, graph: Graph, number: int, left: list[int]) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.wrong: list[tuple[str, int, str]] = []
        self._address = address.removeprefix("http://")
        self._random = random.Random(number)
        self._graph, self._number, self._left, self._count = graph, number, left, 0
        names = [name for name in SAMPLES if name not in LEFT_OUT]
        weights = [RARE.get(name, 1.0 if LANES[name] is Lane.WRITE else 2.0) for name in names]
        self._names, self._weights = ("point", "hop", *names), (20.0, 10.0, *weights)

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=300)
        while self._left:
            try:
                self._left.pop()
            except IndexError:
                break
            self._count += 1
            name = self._random.choices(self._names, self._weights)[0]
            status, text = self._send(connection, name, Turn(f"c{self._number}-{self._count}"))
            self.statuses[name, status] += 1
            if status not in ALLOWED and not (name in MISSING and status == 404):
                self.wrong.append((name, status, text))
        connection.close()

    def _send(self, connection: http.client.HTTPConnection, name: str, turn: Turn) -> tuple[int, str]:
        if name in ("point", "hop"):
            body = {**(POINT if name == "point" else HOP), "params": {"n": self._random.choice(("ann", "bo", "x"))}}
            return self._request(connection, "POST", f"{BASE}/query", {"json": body})
        sample = SAMPLES[name]
        path, options = turn.of(sample.path), turn.options(name, sample, self._graph)
        made = turn.spare in repr((path, options))
        if made:
            self._request(connection, "POST", f"{BASE}/branches", {"json": {"name": turn.spare}})
        if "{commit}" in path:
            path = path.format(commit=self._graph.snapshot().commit_id)
        answer = self._request(connection, sample.method, path, options)
        if name != "cluster_deleteBranch":
            # Branches cost memory as long as they exist.
            for branch in (turn.spare,) * made + (turn.new,) * (name == "cluster_createBranch"):
                self._request(connection, "DELETE", f"{BASE}/branches/{quote(branch, safe='')}", {})
        return answer

    def _request(
        self, connection: http.client.HTTPConnection, method: str, path: str, options: dict[str, Any]
    ) -> tuple[int, str]:
        headers = dict(options.get("headers", {}))
        body = options.get("content")
        if "json" in options:
            body, headers["content-type"] = json.dumps(options["json"]).encode(), "application/json"
        if "params" in options:
            path = f"{path}?{urlencode(options['params'], doseq=True)}"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        return response.status, content[:300].decode(errors="replace")


@dataclass(frozen=True)
class Held:
    """What a process holds: resident memory in MiB, and open files."""

    memory: int
    files: int

    @classmethod
    def of(cls, pid: int) -> Held:
        process = Path(f"/proc/{pid}")
        pages = int((process / "statm").read_text().split()[1])
        return cls(pages * os.sysconf("SC_PAGE_SIZE") // 2**20, len(os.listdir(process / "fd")))

    @classmethod
    def most(cls, seen: Iterable[Held]) -> Held:
        known = list(seen)
        return cls(max(held.memory for held in known), max(held.files for held in known))


class Watch:
    """The front, and its readers by process, now and then. A reader may be replaced by another process."""

    def __init__(self, pid: int, readers: int) -> None:
        self._pid = pid
        self._has_readers = readers > 0
        self.fronts: list[Held] = []
        self.readers: list[dict[int, Held]] = []

    def look(self) -> None:
        self.fronts.append(Held.of(self._pid))
        found = {}
        for pid in reader_pids(self._pid) if self._has_readers else ():
            with suppress(OSError):
                found[pid] = Held.of(pid)
        self.readers.append(found)

    def between(self, start: float, stop: float) -> dict[str, Held]:
        """The most that the front, and any one reader, held in a part of the run."""
        first, last = int(len(self.fronts) * start), max(1, int(len(self.fronts) * stop))
        found = {"front": Held.most(self.fronts[first:last] or self.fronts)}
        readers = [held for at_once in self.readers[first:last] for held in at_once.values()]
        return {**found, "reader": Held.most(readers)} if readers else found


def run_mix(
    address: str, pid: int, path: Path, clients: int, requests: int, readers: int = 0
) -> tuple[Counter[tuple[str, int]], Watch]:
    """Send requests to a server; the answers, and what its processes held meanwhile."""
    watch, left = Watch(pid, readers), [0] * requests
    mixes = [Mix(address, omnigraph.open(path), number, left) for number in range(clients)]
    threads = [threading.Thread(target=mix.run, daemon=True) for mix in mixes]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        threads[0].join(1 if requests > 1000 else 0.1)
        threads[-1].join(0.1)
        watch.look()
    assert [item for mix in mixes for item in mix.wrong] == []
    assert omnigraph.open(path).verify().is_clean
    return sum((mix.statuses for mix in mixes), Counter[tuple[str, int]]()), watch


def test_a_mixed_run_of_all_operations_gives_only_answers_of_the_contract(tmp_path: Path) -> None:
    path, _ = served_graph(tmp_path)
    graph = omnigraph.open(path)
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live:
        statuses, _ = run_mix(live.address, os.getpid(), path, clients=8, requests=240)
    assert sum(statuses.values()) == 240
    assert len({name for name, _ in statuses}) > 25
    assert statuses["point", 200] > 20


@pytest.mark.long
@pytest.mark.part("server-endurance")
@pytest.mark.parametrize("readers", [int(number) for number in os.environ.get("ENDURANCE_READERS", "0 2").split()])
def test_tens_of_thousands_of_mixed_requests_leak_nothing(tmp_path: Path, readers: int) -> None:
    path, queries = served_graph(tmp_path)
    server, began = Server(path, readers, queries), time.monotonic()
    try:
        statuses, watch = run_mix(server.address, server.pid, path, CLIENTS, REQUESTS, readers)
    finally:
        server.kill()
    seconds = time.monotonic() - began
    early, late = watch.between(0.3, 0.5), watch.between(0.8, 1)
    by_status = Counter[int]()
    for (_, status), count in statuses.items():
        by_status[status] += count
    replaced = len({pid for at_once in watch.readers for pid in at_once}) - readers
    print(
        f"readers {readers}: {sum(statuses.values()):,} requests of {len({name for name, _ in statuses})} kinds in "
        f"{seconds:.0f} s: {dict(sorted(by_status.items()))}; {replaced} readers replaced; at 40 % {early}, "
        f"at the end {late}"
    )
    assert sum(statuses.values()) == REQUESTS
    assert early.keys() == late.keys() == ({"front", "reader"} if readers else {"front"})
    for name, held in late.items():
        # What grows is the history that the manifests hold, not what a request leaves behind.
        assert held.memory < early[name].memory * 1.3 + 64, f"the memory of a {name} is flat"
        assert held.files < early[name].files * 1.2 + 32, f"the files of a {name} are flat"
        assert held.files < CLIENTS + 300, "handles belong to connections and open tables"
