"""A mixed run of many clients: only answers of the contract, and memory and file handles that stay flat."""

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

import omnigraph
from tests.features.server.kills import SCHEMA, Server, line
from tests.features.server.live import BASE

CLIENTS = 64
SECONDS = float(os.environ.get("ENDURANCE_SECONDS", "180"))
ADD = "query add($t: String, $n: I32) { insert Note {text: $t, n: $n} }"
READ = "query read() { match { $n: Note } return { $n.text } limit 50 }"
SET = "query set($t: String, $n: I32) { update Note set { n: $n } where text = $t }"


class Mix:
    """One client that reads, writes, branches and merges at random, until the time is over."""

    def __init__(self, server: Server, number: int, ends: float) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self._random = random.Random(number)
        self._number = number
        self._ends = ends
        self._server = server

    def run(self) -> None:
        with self._server.client() as client:
            count = 0
            while time.monotonic() < self._ends:
                count += 1
                verb = self._random.choices(
                    (self.read, self.add, self.change, self.load, self.look, self.feed, self.branch),
                    (40, 15, 10, 5, 20, 5, 5),
                )[0]
                response = verb(client, f"c{self._number}-{count}")
                self.statuses[verb.__name__, response.status_code] += 1

    def read(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.post(f"{BASE}/query", json={"query": READ})

    def add(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"t": name, "n": 1}})

    def change(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.post(f"{BASE}/mutate", json={"query": SET, "params": {"t": "first", "n": self._number}})

    def load(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.post(f"{BASE}/load", json={"data": line(name), "mode": "merge"})

    def look(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.get(f"{BASE}/{self._random.choice(('snapshot', 'schema', 'branches', 'commits'))}")

    def feed(self, client: httpx2.Client, name: str) -> httpx2.Response:
        return client.get(f"{BASE}/changes", params={"start": "now"})

    def branch(self, client: httpx2.Client, name: str) -> httpx2.Response:
        made = client.post(f"{BASE}/branches", json={"name": name})
        if made.status_code != 200:
            return made
        client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"t": name, "n": 2}, "branch": name})
        merged = client.post(f"{BASE}/branches/merge", json={"source": name, "target": "main"})
        deleted = client.delete(f"{BASE}/branches/{name}")
        return merged if merged.status_code != 200 else deleted


def resident_bytes(process: Path) -> int:
    return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


ALLOWED = {200, 409, 429}
"""Success, a conflict between writers, and a full queue."""


@pytest.mark.long
@pytest.mark.parametrize("readers", [0, 2])
def test_a_mixed_run_gives_no_other_answers_and_leaks_nothing(tmp_path: Path, readers: int) -> None:
    path = tmp_path / "kb.omni"
    omnigraph.create(path, SCHEMA).load([{"type": "Note", "data": {"text": "first"}}], "merge")
    server = Server(path, readers)
    try:
        process = Path(f"/proc/{server.process.pid}")
        ends = time.monotonic() + SECONDS
        mixes = [Mix(server, number, ends) for number in range(CLIENTS)]
        threads = [threading.Thread(target=mix.run) for mix in mixes]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS / 2)
        half = resident_bytes(process)
        for thread in threads:
            thread.join()
        statuses = sum((mix.statuses for mix in mixes), Counter[tuple[str, int]]())
        assert {status for _, status in statuses} <= ALLOWED, statuses
        assert sum(statuses.values()) > CLIENTS
        assert resident_bytes(process) < half * 1.5 + 200 * 2**20, "memory grows with what is held, not with requests"
        handles = len(os.listdir(process / "fd"))
        assert handles < CLIENTS + 250, "handles belong to connections and open tables"
    finally:
        server.kill()
    assert omnigraph.open(path).verify().is_clean
