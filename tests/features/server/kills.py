"""A server as a process that is killed while clients write, and what must hold after it."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2

import omnigraph
from omnigraph import Graph
from tests.features.server.live import BASE

SCHEMA = "node Note { text: String @key\n  n: I32? }\nnode Other { text: String }"
ADD = "query add($t: String, $n: I32) { insert Note {text: $t, n: $n} }"
HELD = "query held() { match { $n: Note } return { $n.text } }"


def line(text: str) -> str:
    return json.dumps({"type": "Note", "data": {"text": text, "n": 1}})


def mutate(client: httpx2.Client, name: str) -> httpx2.Response:
    return client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"t": name, "n": 1}})


def load(client: httpx2.Client, name: str) -> httpx2.Response:
    return client.post(f"{BASE}/load", json={"data": line(name), "mode": "merge"})


def load_lines(client: httpx2.Client, name: str) -> httpx2.Response:
    headers = {"content-type": "application/x-ndjson"}
    return client.post(f"{BASE}/load/ndjson", params={"mode": "merge"}, content=line(name), headers=headers)


def branch(client: httpx2.Client, name: str) -> httpx2.Response:
    return client.post(f"{BASE}/branches", json={"name": name})


def delete_branch(client: httpx2.Client, name: str) -> httpx2.Response:
    made = branch(client, name)
    return made if made.status_code != 200 else client.delete(f"{BASE}/branches/{name}")


def merge(client: httpx2.Client, name: str) -> httpx2.Response:
    made = branch(client, f"b-{name}")
    if made.status_code != 200:
        return made
    body = {"query": ADD, "params": {"t": name, "n": 1}, "branch": f"b-{name}"}
    written = client.post(f"{BASE}/mutate", json=body)
    if written.status_code != 200:
        return written
    return client.post(f"{BASE}/branches/merge", json={"source": f"b-{name}", "target": "main"})


def apply(client: httpx2.Client, name: str) -> httpx2.Response:
    source = f"{SCHEMA}\nnode {name.replace('-', '').capitalize()} {{ text: String }}"
    return client.post(f"{BASE}/schema/apply", json={"schema_source": source, "allow_data_loss": True})


def notes(graph: Graph) -> set[str]:
    return {row["n.text"] for row in graph.query(HELD).rows}


def branches(graph: Graph) -> set[str]:
    return {item.name for item in graph.branches()}


VERBS: dict[str, tuple[Callable[[httpx2.Client, str], httpx2.Response], Callable[[Graph, list[str]], bool]]] = {
    "mutate": (mutate, lambda graph, names: set(names) <= notes(graph)),
    "load": (load, lambda graph, names: set(names) <= notes(graph)),
    "load lines": (load_lines, lambda graph, names: set(names) <= notes(graph)),
    "merge": (merge, lambda graph, names: set(names) <= notes(graph)),
    "create a branch": (branch, lambda graph, names: set(names) <= branches(graph)),
    "delete a branch": (delete_branch, lambda graph, names: not set(names) & branches(graph)),
    "apply a schema": (apply, lambda graph, names: len(list(graph.commits())) > len(names)),
}
"""The writing verbs, and what must be true of those that were acknowledged."""


def reader_pids(front: int) -> list[int]:
    """The children of a process that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == front and fields[0] != "Z":
                found.append(int(entry.name))
    return found


class Server:
    """A server process."""

    def __init__(self, path: Path, readers: int = 0) -> None:
        options = ["--bind", "127.0.0.1:0", "--unauthenticated", "--readers", str(readers)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "omnigraph", "serve", f"kb={path}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment, "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"},
        )
        assert self.process.stdout is not None
        found = re.search(r"=(\S+)$", self.process.stdout.readline())
        assert found is not None, "the server did not start"
        self.address = f"http://{found[1]}"

    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.address, timeout=60, verify=False)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class Load:
    """Clients that write with one verb until the server is gone, and remember what was acknowledged."""

    def __init__(self, server: Server, verb: str, clients: int, prefix: str) -> None:
        self.acknowledged: list[str] = []
        self.unexpected: list[tuple[int, str]] = []
        self._write = VERBS[verb][0]
        self._threads = [
            threading.Thread(target=self._run, args=(server, f"{prefix}-{number}"), daemon=True)
            for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, server: Server, prefix: str) -> None:
        with server.client() as client:
            for number in range(100_000):
                name = f"{prefix}-{number}"
                try:
                    response = self._write(client, name)
                except httpx2.TransportError:
                    return
                if response.status_code == 200:
                    self.acknowledged.append(name)
                elif response.status_code not in (409, 412, 429):
                    self.unexpected.append((response.status_code, response.text))

    def wait_for(self, count: int) -> None:
        """Wait until some writes were acknowledged."""
        ends = time.monotonic() + 60
        while len(self.acknowledged) < count:
            assert time.monotonic() < ends, self.unexpected[:3]
            time.sleep(0.005)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


def check(path: Path, loads: Mapping[str, Load]) -> None:
    """Nothing that was acknowledged is lost, and the graph is sound as it is."""
    graph = omnigraph.open(path)
    for verb, load in loads.items():
        assert load.unexpected == [], verb
        assert VERBS[verb][1](graph, load.acknowledged), verb
    report = graph.verify()
    assert report.is_clean, report
