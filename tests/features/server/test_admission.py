"""Admission: exact bounds per actor, held until the work ends, and a bounded queue of reads."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.core.ports import IdSource
from omnigraph.errors import UsageError
from omnigraph.server.access.admission import BYTES_VARIABLE, INFLIGHT_VARIABLE, Admission
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.roads import Lane
from omnigraph.server.runners import InThreads
from tests.features.server.live import BASE, READ_ALL, Live, running, serving_of
from tests.features.server.test_reads import problem

ADD = "query q($n: String) { insert Note {text: $n} }"


class Held:
    """Ids that hold every write of a graph until it is released, and count those that wait."""

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self.release = threading.Event()
        self.waiting = threading.Semaphore(0)

    def new_id(self) -> str:
        self.waiting.release()
        assert self.release.wait(60)
        return self._ids.new_id()

    def new_ids(self, count: int) -> str:
        return self._ids.new_ids(count)


@pytest.fixture
def held(graph: Graph) -> Iterator[Held]:
    ids = graph._context.ids
    held = Held(ids)
    object.__setattr__(graph._context, "ids", held)
    yield held
    held.release.set()
    object.__setattr__(graph._context, "ids", ids)


def add(client: httpx2.Client, text: str = "t") -> httpx2.Response:
    return client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"n": text}})


def test_an_actor_has_so_many_writes_in_flight_and_others_are_not_hindered(graph: Graph, held: Held) -> None:
    serving = serving_of(graph, tokens={"ann": "a", "bob": "b"})
    with (
        running(serving, admission=Admission(3)) as live,
        live.client("a") as ann,
        live.client("b") as bob,
        ThreadPoolExecutor(8) as pool,
    ):
        running_writes = [pool.submit(add, ann) for _ in range(3)]
        for _ in range(3):
            assert held.waiting.acquire(timeout=60)
        refused = add(ann)
        assert "'ann'" in problem(refused, 429)
        assert (refused.headers["retry-after"], refused.json()["code"]) == ("60", "too_many_requests")
        assert ann.post(f"{BASE}/query", json={"query": READ_ALL}).status_code == 200, "reads are not admitted"
        other = pool.submit(add, bob)
        assert held.waiting.acquire(timeout=60)
        held.release.set()
        assert [item.result().status_code for item in (*running_writes, other)] == [200] * 4
        assert add(ann).status_code == 200, "the places are free again"


def test_a_place_is_held_until_the_work_ends_although_its_caller_has_gone(graph: Graph, held: Held) -> None:
    with running(serving_of(graph), admission=Admission(1)) as live, live.client() as client:
        body = b'{"query":"query q() { insert Note {text: \\"gone\\"} }"}'
        head = (
            f"POST {BASE}/mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        with live.connect() as connection:
            connection.sendall(head.encode() + body)
            assert held.waiting.acquire(timeout=60)
        assert add(client).status_code == 429
        held.release.set()
        while (response := add(client)).status_code == 429:
            pass
        assert response.status_code == 200
        rows = client.post(
            f"{BASE}/query", json={"query": 'query q() { match { $n: Note {text: "gone"} } return { $n } }'}
        ).json()
        assert rows["row_count"] == 1, "a write that began is committed"


def test_the_bytes_of_writes_are_bounded(graph: Graph) -> None:
    with running(serving_of(graph), admission=Admission(bytes_max=300)) as live, live.client() as client:
        assert "300 bytes" in problem(add(client, "x" * 400), 429)
        assert client.post(f"{BASE}/branches", json={"name": "admitted"}).status_code == 200, "estimated with 256"
        assert client.delete(f"{BASE}/branches/admitted").status_code == 200


def test_permits_are_counted_by_actor_and_given_back() -> None:
    admission = Admission(2, 100)
    with admission.admitted("a", 60):
        with pytest.raises(Refusal, match="100 bytes"), admission.admitted("a", 41):
            pass
        with admission.admitted("a", 40), admission.admitted(None, 100):
            with pytest.raises(Refusal, match="'a' has 2 requests"), admission.admitted("a", 0):
                pass
            with pytest.raises(Refusal, match="'anonymous'"), admission.admitted(None, 1):
                pass
    with admission.admitted("a", 100):
        pass
    assert not admission._inflight


def test_the_environment_sets_the_bounds() -> None:
    admission = Admission.from_environment({INFLIGHT_VARIABLE: " 5 ", BYTES_VARIABLE: ""})
    assert (admission._inflight_max, admission._bytes_max) == (5, 4 * 2**30)
    for wrong in ("0", "-1", "x", "1.5", "٣"):
        with pytest.raises(UsageError, match=INFLIGHT_VARIABLE):
            Admission.from_environment({INFLIGHT_VARIABLE: wrong})


def test_a_queue_of_reads_that_is_full_says_when_to_come_again(graph: Graph) -> None:
    with running(serving_of(graph), runner=InThreads(reads=1, waiting_max=0)) as live, live.client() as client:
        refused = client.post(f"{BASE}/query", json={"query": READ_ALL})
        problem(refused, 429)
        assert refused.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    with running(serving_of(graph)) as live:
        yield live


def test_a_query_is_cancelled_when_its_caller_goes_away(graph: Graph) -> None:
    cancelled = threading.Event()
    started = threading.Event()

    class Watched(InThreads):
        async def run(self, lane, work, cancel):  # type: ignore[no-untyped-def] # as the runner
            def watched() -> object:
                started.set()
                if cancel.wait(60):
                    cancelled.set()
                return work()

            return await super().run(lane, watched if lane is Lane.READ else work, cancel)

    body = f'{{"query":"{READ_ALL}"}}'
    head = (
        f"POST {BASE}/query HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with running(serving_of(graph), runner=Watched()) as live:
        with live.connect() as connection:
            connection.sendall((head + body).encode())
            assert started.wait(60)
        assert cancelled.wait(60)
