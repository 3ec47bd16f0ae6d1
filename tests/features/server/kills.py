"""A server as a process that is killed while clients write, and what must hold after it.

The writing verbs are those of the route table, with their sample requests: a new verb joins by itself. Evidence of an
acknowledged write is the commit that its answer names; verbs whose answer names none have a row in ``EVIDENCE``.
"""

import atexit
import contextlib
import io
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa

import omnigraph
from omnigraph import Graph
from omnigraph.errors import NotFoundError
from omnigraph.server.roads import Lane
from omnigraph.server.routes.table import ROUTES
from tests.features.server import served_process
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import BASE
from tests.features.server.requests import ADD, SAMPLES, Sample, arrow_stream
from tests.features.server.served_process import NEVER
from tests.support.faults.child import python
from tests.support.faults.warm import WarmInterpreter

LANES = {route.operation.id: route.road.lane for route in ROUTES}
REVIEWS = frozenset({"saveReview", "changeReview", "commentReview"})
"""Operations that write files beside the graph, of which old ones are forgotten."""
WRITING = tuple(
    name
    for name, sample in SAMPLES.items()
    # A stored mutation is on the loop until its road is known.
    if (LANES[name] is Lane.WRITE or (sample.writes and LANES[name] is Lane.LOOP)) and name not in REVIEWS
)
"""The operations that write to the graph."""
ALONE = frozenset({"cluster_applySchema", "cleanup"})
"""Verbs of which several at a time only get in the way of each other."""


def line(text: str) -> str:
    return json.dumps({"type": "Person", "data": {"name": text, "age": 1}})


@dataclass(frozen=True)
class Turn:
    """The names that one request of a client uses, so that no other one has them."""

    name: str

    @property
    def person(self) -> str:
        return f"p-{self.name}"

    @property
    def new(self) -> str:
        return f"n-{self.name}"

    @property
    def spare(self) -> str:
        return f"s-{self.name}"

    @property
    def type(self) -> str:
        return "T" + re.sub(r"\W", "", self.name)

    def of(self, value: Any) -> Any:
        """A part of a sample request with the names of this turn."""
        names = {"eve": self.person, "new": self.new, "spare": self.spare}
        match value:
            case dict():
                return {key: self.of(item) for key, item in value.items()}
            case list():
                return [self.of(item) for item in value]
            case str():
                return names.get(value, value.replace("/spare", f"/{self.spare}"))
            case bytes() if b"ARROW" in value or value.startswith(b"\xff\xff\xff\xff"):
                return arrow_stream(
                    pa.ipc.open_stream(io.BytesIO(value)).read_all().set_column(0, "name", [[self.person]])
                )
            case bytes():
                return value.replace(b'"eve"', f'"{self.person}"'.encode())
            case _:
                return value

    def options(self, name: str, sample: Sample, graph: Graph) -> dict[str, Any]:
        """The sample request of an operation, with effects of its own.

        It is about ``main``. A request that expects a head would hardly ever find it there.
        """
        branch = "dev" if name.endswith("if_graph_commit") else "main"
        options: dict[str, Any] = self.of(sample.options(branch, graph))
        body = options.get("json", {})
        if "data" in body:
            body["data"] = line(self.person)
        if "schema_source" in body:
            body["schema_source"] += f"\nnode {self.type} {{ text: String }}\n"
        return options


def mentions(value: Any, word: str) -> bool:
    return word in repr(value)


@dataclass(frozen=True)
class Seen:
    """A graph that nothing writes to any more: thousands of writes are looked for in what it lists once."""

    graph: Graph

    @cached_property
    def people(self) -> set[str]:
        return set(self.graph.nodes("Person").select("name").arrow().column("name").to_pylist())

    @cached_property
    def branches(self) -> set[str]:
        return {item.name for item in self.graph.branches()}

    @cached_property
    def types(self) -> set[str]:
        return set(self.graph.catalog().nodes)


EVIDENCE: Mapping[str, Callable[[Seen, Turn], bool]] = {
    "cluster_createBranch": lambda seen, turn: turn.new in seen.branches,
    "cluster_deleteBranch": lambda seen, turn: turn.spare not in seen.branches,
    "cluster_mergeBranches": lambda seen, turn: turn.person in seen.people,
    "cluster_applySchema": lambda seen, turn: turn.type in seen.types,
    # They delete and write nothing that a reader could miss; the graph must be sound.
    "cleanup": lambda seen, turn: True,
    "verify": lambda seen, turn: True,
}
"""What must be true of an acknowledged write whose answer names no commit."""


def commits_of(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """The commits that an answer names: one, several, or none if there was nothing to do."""
    listed = answer.get("commits")
    # Those of a cleanup are the ids of the commits that it gave up; those of a verification are their number.
    named = [*(listed if isinstance(listed, list) else ()), *([answer["commit"]] if answer.get("commit") else [])]
    return tuple(commit["graph_commit_id"] for commit in named if isinstance(commit, Mapping))


def has_commits(graph: Graph, commits: Iterable[str]) -> bool:
    try:
        return all(graph.commit(commit).id == commit for commit in commits)
    except NotFoundError:
        return False


@dataclass(frozen=True)
class Acknowledged:
    """A write that a client knows of: by the answer, or by the address of its job."""

    operation: str
    turn: Turn
    commits: tuple[str, ...]
    job: str | None = None

    def holds(self, seen: Seen) -> bool:
        if self.operation in EVIDENCE:
            return EVIDENCE[self.operation](seen, self.turn)
        return has_commits(seen.graph, self.commits)


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


@cache
def warm_server() -> WarmInterpreter:
    """An interpreter with the modules of a server, to be copied: a cold start takes seconds of processor time."""
    interpreter = WarmInterpreter(("omnigraph.cli.commands.serve", "omnigraph.server.boot", "httptools", "uvloop"))
    atexit.register(interpreter.close)
    return interpreter


class Server:
    """A server process. It may kill itself at its first commit: ``dies`` is ``before`` or ``after``."""

    def __init__(self, path: Path, readers: int = 0, queries: Path | None = None, dies: str = NEVER) -> None:
        options = ["--bind", "127.0.0.1:0", "--unauthenticated", "--readers", readers]
        options += [] if queries is None else ["--queries", queries]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
        argv = python(Path(served_process.__file__), dies, "serve", f"kb={path}", *options)
        self._turn = ExitStack()
        self._process = self._turn.enter_context(warm_server().turn())
        reading, writing = os.pipe()
        log = path.with_suffix(".log")
        with open(reading) as printed, open(writing, "w") as output, log.open("w") as said:
            self.pid = self._process.launch(
                argv, {**environment, "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "64"}, output, said
            )
            output.close()
            found = re.search(r"=(\S+)$", printed.readline())
        if found is None:
            self.kill()
            raise AssertionError(f"the server did not start: {log.read_text()}")
        self.address = f"http://{found[1]}"

    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.address, timeout=60, verify=False)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._process.wait(60)
        self._turn.close()


def served_graph(folder: Path) -> tuple[Path, Path]:
    """A graph that all sample requests fit, and the file of its stored queries."""
    path, queries = folder / "kb.omni", folder / "stored.gq"
    small_graph(path)
    queries.write_text("\n".join(STORED))
    return path, queries


class Load:
    """Clients that write with one verb until the server is gone, and remember what was acknowledged."""

    def __init__(self, server: Server, path: Path, operation: str, clients: int, prefix: str) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.accepted: list[str] = []
        """Addresses of jobs that were acknowledged."""
        self.unexpected: list[tuple[int, str]] = []
        self._operation = operation
        self._graph = omnigraph.open(path)
        self._threads = [
            threading.Thread(target=self._run, args=(server, f"{prefix}-{number}"), daemon=True)
            for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, server: Server, prefix: str) -> None:
        with server.client() as client:
            for number in range(100_000):
                try:
                    self._write(client, Turn(f"{prefix}-{number}"))
                except httpx2.TransportError:
                    return

    def _write(self, client: httpx2.Client, turn: Turn) -> None:
        sample = SAMPLES[self._operation]
        path, options = turn.of(sample.path), turn.options(self._operation, sample, self._graph)
        if mentions((path, options), turn.spare):
            # A branch of its own, with a change to merge or to undo.
            client.post(f"{BASE}/branches", json={"name": turn.spare})
            body = {"query": ADD, "params": {"name": turn.person, "age": 1}, "branch": turn.spare}
            if client.post(f"{BASE}/mutate", json=body).status_code != 200:
                return
        response = client.request(sample.method, path, **options)
        if response.status_code == 200:
            self._acknowledge(turn, response.json())
        elif response.status_code == 202:
            self.accepted.append(response.headers["location"])
            self._follow(client, turn, response.headers["location"])
        elif response.status_code not in (409, 412, 429):
            self.unexpected.append((response.status_code, response.text))

    def _follow(self, client: httpx2.Client, turn: Turn, place: str) -> None:
        while (job := client.get(place).json())["state"] not in ("succeeded", "failed"):
            time.sleep(0.01)
        if job["state"] == "succeeded":
            self._acknowledge(turn, job["result"], place)
        elif job["error"].get("code") != "conflict":
            self.unexpected.append((500, str(job["error"])))

    def _acknowledge(self, turn: Turn, answer: Mapping[str, Any], job: str | None = None) -> None:
        if self._operation not in EVIDENCE and not {"commit", "commits"} & answer.keys():
            self.unexpected.append((200, f"{self._operation} names no commit and has no evidence: {answer}"))
            return
        self.acknowledged.append(Acknowledged(self._operation, turn, commits_of(answer), job))

    def wait_for(self, count: int) -> None:
        """Wait until some writes were acknowledged."""
        ends = time.monotonic() + 120
        while len(self.acknowledged) < count:
            assert time.monotonic() < ends, self._operation
            assert self.unexpected == []
            time.sleep(0.005)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()


def check(path: Path, loads: Iterable[Load]) -> None:
    """Nothing that was acknowledged is lost, and the graph is sound as it is."""
    seen = Seen(omnigraph.open(path))
    for load in loads:
        assert load.unexpected == []
        lost = [item for item in load.acknowledged if not item.holds(seen)]
        assert lost == []
    report = seen.graph.verify()
    assert report.is_clean, report


def check_jobs(client: httpx2.Client, path: Path, loads: Iterable[Load]) -> None:
    """Every job that was acknowledged has ended, and says what is true of the graph."""
    graph = omnigraph.open(path)
    for load in loads:
        known = {item.job: item.commits for item in load.acknowledged}
        for place in load.accepted:
            job = client.get(place).json()
            assert job["state"] in ("succeeded", "failed"), job
            commits = commits_of(job["result"] or {})
            assert has_commits(graph, commits)
            if place in known:
                assert (job["state"], commits) == ("succeeded", known[place])
