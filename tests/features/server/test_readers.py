"""Reader processes: answers as from threads, fresh after every write, and nothing worse than a 503 when one dies."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import UsageError
from omnigraph.exec.columns import SMALL_ROWS_MAX
from omnigraph.policy.decide import load_policy
from omnigraph.server.access.states import State
from omnigraph.server.boot import Options, default_readers, runner_of
from omnigraph.server.readers.frames import Done
from omnigraph.server.readers.memory import READER_BYTES_MAX, reader_environment, reader_memory
from omnigraph.server.readers.runner import InProcesses
from omnigraph.server.runners import InThreads
from omnigraph.server.serving.graphs import Serving
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import BASE, READ_ALL, Live, queries_of, running, serving_of

ADD = "query add($name: String) { insert Person {name: $name} }"
NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name } }"


@pytest.fixture(scope="module")
def runner() -> InProcesses:
    return InProcesses(1)


@pytest.fixture(scope="module")
def live(graph: Graph, runner: InProcesses) -> Iterator[Live]:
    """An open server with one reader."""
    with running(serving_of(graph, queries=queries_of(graph, *STORED)), runner=runner) as live, live.client() as client:
        assert client.get("/readyz").status_code == 503, "no reader runs yet"
        assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200
        yield live
        stop(live)


def stop(live: Live) -> None:
    """End the readers: the server of a test is stopped without its runner."""
    live.run(live.app.runner.close())


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as client:
        yield client


def until(is_so: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


def reader_pids(live: Live) -> list[int]:
    return [reader.process.pid for reader in live.app.runner.pool._readers]  # type: ignore[attr-defined]


SAMPLES = {
    "query": {"query": READ_ALL},
    "branch": {"query": READ_ALL, "branch": "dev"},
    "parameters": {"query": STORED[1], "params": {"name": "ann"}},
    "wrong type": {"query": STORED[1], "params": {"name": 5}},
    "unknown type": {"query": "query q() { match { $p: Persn } return { $p } }"},
    "syntax": {"query": "query q("},
    "mutation": {"query": ADD},
    "missing branch": {"query": READ_ALL, "branch": "missing"},
    "missing commit": {"query": READ_ALL, "snapshot": "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
}


@pytest.fixture(scope="module")
def plain(graph: Graph) -> Iterator[httpx2.Client]:
    """A client of a server without readers."""
    with running(serving_of(graph)) as live, live.client() as client:
        yield client


@pytest.mark.parametrize("name", SAMPLES)
def test_a_reader_answers_with_the_bytes_of_a_thread(client: httpx2.Client, plain: httpx2.Client, name: str) -> None:
    expected = plain.post(f"{BASE}/query", json=SAMPLES[name])
    found = client.post(f"{BASE}/query", json=SAMPLES[name])
    assert (found.status_code, found.content) == (expected.status_code, expected.content)
    assert {**found.headers, "date": ""} == {**expected.headers, "date": ""}


def test_stored_reads_old_routes_and_the_feed_run_in_a_reader_too(client: httpx2.Client, live: Live) -> None:
    assert live.app.runner.pool.alive == 1  # type: ignore[attr-defined]
    assert client.post(f"{BASE}/queries/everyone").json()["row_count"] == 3
    legacy = client.post(f"{BASE}/read", json={"query_source": READ_ALL})
    assert (legacy.json()["row_count"], legacy.headers["deprecation"]) == (3, "true")
    assert client.get(f"{BASE}/changes", params={"start": "beginning"}).json()["blocks"]
    denied = client.get(f"{BASE}/changes", params={"cursor": "x"})
    assert (denied.status_code, denied.json()["code"]) == (400, "bad_request")
    assert client.get("/readyz").status_code == 200


def test_a_reader_sees_every_write_that_was_acknowledged(client: httpx2.Client) -> None:
    for number in range(10):
        name = f"w{number}"
        assert client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"name": name}}).status_code == 200
        rows = client.post(f"{BASE}/query", json={"query": NAMES}).json()["rows"]
        assert name in [row["p.name"] for row in rows]


def test_an_answer_larger_than_a_frame_is_streamed_and_may_be_left(client: httpx2.Client, live: Live) -> None:
    lines = "\n".join(json.dumps({"type": "Note", "data": {"text": f"{n}" + "x" * 1000}}) for n in range(4000))
    assert client.post(f"{BASE}/load", json={"data": lines, "mode": "append", "branch": "dev"}).status_code == 200
    body = {"query": "query q() { match { $n: Note } return { $n.text } }", "branch": "dev"}
    response = client.post(f"{BASE}/query", json=body)
    assert (response.json()["row_count"], len(response.content) > 4_000_000) == (4000, True)
    for _ in range(6):
        # More than the channels of the reader: each must be free again.
        with client.stream("POST", f"{BASE}/query", json=body) as stream:
            next(stream.iter_bytes(1024))
    assert client.post(f"{BASE}/query", json=body).json()["row_count"] == 4000


@contextmanager
def serving(live: Live, state: Serving) -> Iterator[None]:
    """Serve another state for a while, as after a reload."""
    before, live.app.serving = live.app.serving, state
    try:
        yield
    finally:
        live.app.serving = before


def test_policies_are_asked_in_the_reader_again_and_follow_a_reload(live: Live, graph: Graph, tmp_path: Path) -> None:
    def state(actions: str) -> Serving:
        bundle = tmp_path / "policy.yaml"
        rule = f"{{ id: r, allow: {{ actors: {{ group: g }}, actions: [{actions}] }} }}"
        bundle.write_text(f"version: 1\ngroups: {{ g: [ann] }}\nrules: [{rule}]\n")
        return serving_of(graph, tokens={"ann": "t"}, authorizer=load_policy(bundle), state=State.POLICY_ENABLED)

    with live.client("t") as client:
        for actions, status in (("read", 200), ("export", 403), ("read, change", 200)):
            with serving(live, state(actions)):
                assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == status


def test_a_reader_stays_inside_the_data_rules_of_the_actor(live: Live, graph: Graph, tmp_path: Path) -> None:
    bundle = tmp_path / "policy.yaml"
    bundle.write_text(
        "version: 1\ngroups: { g: [ann] }\nrules: [{ id: r, allow: { actors: { group: g }, actions: [read] } }]\n"
    )
    (tmp_path / "rows.cedar").write_text(
        'permit (principal, action == Omnigraph::Action::"read_property", resource);'
        'permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person)'
        'when { resource.name == "ann" };'
    )
    state = serving_of(graph, tokens={"ann": "t"}, authorizer=load_policy(bundle), state=State.POLICY_ENABLED)
    with serving(live, state), live.client("t") as client:
        reply = client.post(f"{BASE}/query", json={"query": NAMES})
        assert reply.json()["rows"] == [{"p.name": "ann"}]


def test_a_graph_that_cannot_be_opened_fails_its_requests_and_no_others(
    live: Live, client: httpx2.Client, tmp_path: Path
) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key\n age: I32? }")
    (tmp_path / "kb.omni").rename(tmp_path / "away")
    with serving(live, serving_of(graph)):
        response = client.post(f"{BASE}/query", json={"query": READ_ALL})
        assert (response.status_code, response.json()["error"]) == (500, "internal error")
        assert str(tmp_path) not in response.text
        (tmp_path / "away").rename(tmp_path / "kb.omni")
        assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200
    assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph in which long walks are many."""
    schema = "node Person { name: String @key\n age: I32? }\nedge Knows: Person -> Person"
    graph = omnigraph.create(tmp_path_factory.mktemp("dense") / "kb.omni", schema, durability="os")
    people = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(1500)]
    edges = [
        {"edge": "Knows", "from": f"p{number}", "to": f"p{(number * 7 + step) % 1500}", "data": {}}
        for number in range(1500)
        for step in range(1, 6)
    ]
    graph.load([*people, *edges], "merge")
    return graph


SLOW = (
    "query q() { match { $a: Person\n $a knows $b\n $b knows $c\n $c knows $d\n $d knows $e\n $e knows $f\n"
    " $f knows $g\n $g knows $h } return { $a.name, $h.name } }"
)


def test_a_query_is_cancelled_in_its_reader_when_its_caller_goes_away(live: Live, dense: Graph) -> None:
    body = json.dumps({"query": SLOW}).encode()
    head = f"POST {BASE}/query HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
    [reader] = live.app.runner.pool._readers  # type: ignore[attr-defined]
    with serving(live, serving_of(dense, query_seconds=600)):
        with live.connect() as connection:
            connection.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
            until(lambda: not reader.is_idle)
        until(lambda: reader.is_idle)
    assert reader.process.poll() is None, "the reader itself goes on"


def test_a_query_that_takes_too_long_is_refused_and_a_reader_that_is_stuck_is_killed(
    live: Live, client: httpx2.Client, dense: Graph
) -> None:
    [pid] = reader_pids(live)
    with serving(live, serving_of(dense, query_seconds=0.1)):
        response = client.post(f"{BASE}/query", json={"query": SLOW})
        assert (response.status_code, response.json()["resource_limit"]["resource"]) == (413, "query_time_ms")
        assert reader_pids(live) == [pid]
        os.kill(pid, signal.SIGSTOP)
        assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 503
    until(lambda: reader_pids(live) not in ([], [pid]))


def test_a_read_that_waits_too_long_for_busy_readers_is_told_to_come_again(
    live: Live, client: httpx2.Client, graph: Graph, runner: InProcesses
) -> None:
    [reader] = runner.pool._readers
    held, reader.free = reader.free, type(reader.free)()
    try:
        with serving(live, serving_of(graph, query_seconds=0.1)):
            response = client.post(f"{BASE}/query", json={"query": READ_ALL})
    finally:
        reader.free = held
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    assert response.json()["problem"]["retryable"] is True
    assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200


def test_a_reader_above_its_memory_limit_is_replaced_without_an_error(live: Live, client: httpx2.Client) -> None:
    pool = live.app.runner.pool  # type: ignore[attr-defined]
    before, pool._memory_max = pool._memory_max, 1
    [pid] = reader_pids(live)
    assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200
    pool._memory_max = before
    assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200, "by the one that replaces it"
    assert reader_pids(live) != [pid]
    assert b'omnigraph_reader_ends_total{reason="memory"} 1.0' in live.app.metrics.text()


def kill_under_load(live: Live, kills: int) -> None:
    """Kill readers while clients ask: answers are right, or say that the reader was lost."""
    ends = threading.Event()
    with live.client() as client:
        expected = client.post(f"{BASE}/query", json={"query": READ_ALL}).content

    def ask(_: int) -> list[tuple[int, bytes]]:
        answers = []
        with live.client() as own:
            while not ends.is_set():
                response = own.post(f"{BASE}/query", json={"query": READ_ALL})
                answers.append((response.status_code, response.content))
        return answers

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, number) for number in range(4)]
        try:
            for _ in range(kills):
                until(lambda: reader_pids(live))
                killed = reader_pids(live)[0]
                os.kill(killed, signal.SIGKILL)
                until(lambda killed=killed: killed not in reader_pids(live) and reader_pids(live))  # type: ignore[misc]
        finally:
            ends.set()
        answers = [answer for asked in asking for answer in asked.result()]
    assert {status for status, _ in answers} <= {200, 503}
    for status, content in answers:
        if status == 200:
            assert content == expected
        else:
            assert json.loads(content)["problem"] == {"code": "reader_lost", "retryable": True}


def test_a_reader_that_is_killed_under_load_costs_its_requests_and_is_started_again(live: Live) -> None:
    kill_under_load(live, 1)
    assert b'omnigraph_reader_ends_total{reason="lost"}' in live.app.metrics.text()


@pytest.mark.long
def test_readers_that_are_killed_again_and_again_never_give_a_wrong_answer(graph: Graph) -> None:
    with running(serving_of(graph), runner=InProcesses(2)) as live:
        kill_under_load(live, 10)
        stop(live)


def test_the_number_of_readers_follows_the_cores_and_the_option() -> None:
    assert [default_readers(cores) for cores in (1, 2, 3, 4, 64)] == [0, 0, 2, 3, 8]
    assert isinstance(runner_of(Options(readers=0)), InThreads)
    assert not isinstance(runner_of(Options(readers=0)), InProcesses)
    assert isinstance(runner_of(Options(readers=2)), InProcesses)


def test_the_memory_of_readers_and_of_their_queries_comes_from_the_environment() -> None:
    assert (reader_memory({}), reader_memory({"OMNIGRAPH_READER_MEMORY": "1G"})) == (READER_BYTES_MAX, 2**30)
    with pytest.raises(UsageError, match="OMNIGRAPH_READER_MEMORY"):
        reader_memory({"OMNIGRAPH_READER_MEMORY": "much"})
    assert reader_environment(2, {"OMNIGRAPH_QUERY_MEMORY": "1G"}) == {"OMNIGRAPH_QUERY_MEMORY": "1G"}
    one, two = (int(reader_environment(count, {})["OMNIGRAPH_QUERY_MEMORY"]) for count in (1, 2))
    assert two == one // 2


class Counting(InProcesses):
    """Counts the reads that a reader process answers, and the pieces of work that threads of the front do."""

    sent = 0
    threads = 0

    async def _done(self, *arguments: Any) -> Done:
        self.sent += 1
        return await super()._done(*arguments)

    async def run(self, *arguments: Any) -> Any:
        self.threads += 1
        return await super().run(*arguments)


def test_point_reads_of_a_larger_table_are_answered_by_the_front_not_by_a_reader(tmp_path: Path) -> None:
    made = omnigraph.create(tmp_path / "large.omni", "node Person { name: String @key age: I32? }")
    made.load({"Person": [{"name": f"p{n}", "age": n % 90} for n in range(SMALL_ROWS_MAX + 1)]})
    graph, runner = omnigraph.open(made.uri), Counting(1)
    graph.snapshot()
    point = "query q($n: String) { match { $p: Person {name: $n} } return { $p.name, $p.age } }"
    with running(serving_of(graph), runner=runner) as live, live.client() as client:
        for number in range(20):
            answer = client.post(f"{BASE}/query", json={"query": point, "params": {"n": f"p{number}"}})
            assert answer.json()["rows"] == [{"p.name": f"p{number}", "p.age": number}]
        assert runner.sent == 0
        assert client.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200
        assert runner.sent == 1, "a read of all rows does go to a reader"
        stop(live)


def test_a_read_for_readers_takes_no_thread_of_the_front_once_it_is_known(tmp_path: Path, graph: Graph) -> None:
    counted, runner = "query q($age: I32) { match { $p: Person {age: $age} } return { count($p) as n } }", Counting(1)
    read = omnigraph.open(graph.uri)
    read.snapshot()
    with running(serving_of(read), runner=runner) as live, live.client() as client:
        for number in range(10):
            answer = client.post(f"{BASE}/query", json={"query": counted, "params": {"age": 31 + number}})
            assert answer.json()["rows"] == [{"n": 0 if number else 1}]
        assert runner.sent == 10
        assert runner.threads == 1, "the text is compiled, and that it has no closures is found out, on a thread"
        stop(live)


def test_point_reads_return_to_the_front_after_a_commit_of_another_process(tmp_path: Path) -> None:
    made, runner = small_graph(tmp_path / "kb.omni"), Counting(1)
    point = "query q($n: String) { match { $p: Person {name: $n} } return { $p.age } }"

    def ask() -> Any:
        return client.post(f"{BASE}/query", json={"query": point, "params": {"n": "ann"}}).json()["rows"]

    served = omnigraph.open(made.uri)
    served.snapshot()
    with running(serving_of(served), runner=runner) as live, live.client() as client:
        for age in (1, 2, 3):
            # The server knows nothing of this one, and the commits that it makes itself bring the head into memory.
            omnigraph.open(made.uri).mutate(f'query q() {{ update Person set {{age: {age}}} where name = "ann" }}')
            assert [ask() for _ in range(6)] == [[{"p.age": age}]] * 6
            threads = runner.threads
            assert [ask() for _ in range(3)] == [[{"p.age": age}]] * 3
            assert (runner.sent, runner.threads) == (0, threads)
        other = omnigraph.open(made.uri)
        other.apply_schema(other.schema_text().replace("age: I32?", "age: I32?\n  nick: String?"))
        for text in (point.replace("$p.age", "$p.nick"), point):
            answer = client.post(f"{BASE}/query", json={"query": text, "params": {"n": "ann"}})
            assert (answer.status_code, answer.json()["row_count"]) == (200, 1), "the schema is the newest one too"
        stop(live)
