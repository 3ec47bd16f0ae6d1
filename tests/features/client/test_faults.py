"""Lost answers, busy servers and dying ones: writes happen at most once, and an unknown outcome is said to be one."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph, RemoteGraph
from omnigraph.client.addresses import RemoteAddress
from omnigraph.client.transport import ATTEMPTS, Transport
from omnigraph.errors import OmnigraphError, OutcomeUnknown, ServerUnavailable
from tests.features.client.faulty import ANSWERED, BUSY, CUT, GATEWAY, LOST, Proxy, proxy
from tests.features.server.live import BASE, READ_ALL, Live, running, serving_of

ADD = 'query add() { insert Note {text: "once"} }'


@pytest.fixture(scope="module")
def middle(live: Live) -> Iterator[Proxy]:
    with proxy(live.port, BASE) as middle:
        yield middle


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def faulty(middle: Proxy, waits: list[float]) -> Iterator[RemoteGraph]:
    """The graph behind the proxy; it notes its waits instead of sleeping."""
    middle.faults.clear()
    middle.requests.clear()
    middle.keys.clear()
    with RemoteGraph(Transport(RemoteAddress.of(middle.uri), None, sleep=waits.append)) as faulty:
        yield faulty


@pytest.mark.parametrize("fault", [LOST, CUT, BUSY, GATEWAY])
def test_a_read_is_repeated(fault: str, faulty: RemoteGraph, middle: Proxy, graph: Graph) -> None:
    middle.faults += [fault, fault]
    assert faulty.query(READ_ALL).to_dicts() == graph.query(READ_ALL).to_dicts()
    assert len(middle.requests) == 3


@pytest.mark.parametrize("fault", [LOST, CUT, BUSY, GATEWAY])
def test_a_write_whose_answer_was_lost_is_made_once(
    fault: str, faulty: RemoteGraph, middle: Proxy, graph: Graph, branch: str
) -> None:
    before = graph.counts(branch)["Note"]
    middle.faults += [fault, fault]
    made = faulty.mutate(ADD, branch=branch)
    assert made.commit is not None
    assert made.commit.id == graph.commit(branch).id
    assert graph.counts(branch)["Note"] == before + 1
    assert len(middle.requests) == 3
    assert len(set(middle.keys)) == 1
    assert middle.keys[0] is not None


def test_a_load_whose_answer_was_lost_is_made_once(
    faulty: RemoteGraph, middle: Proxy, graph: Graph, branch: str
) -> None:
    middle.faults += [ANSWERED, LOST]  # the first request asks for the schema
    made = faulty.load([{"type": "Note", "data": {"text": "x"}}], "append", branch=branch)
    assert made.repeated
    assert made.commit.id == graph.commit(branch).id
    assert graph.counts(branch)["Note"] == 1


def test_a_write_that_stays_lost_has_an_unknown_outcome_and_a_key_that_decides_it(
    faulty: RemoteGraph, middle: Proxy, graph: Graph, branch: str
) -> None:
    middle.faults += [LOST] * ATTEMPTS
    with pytest.raises(OutcomeUnknown) as error:
        faulty.mutate(ADD, branch=branch)
    key = error.value.facts["idempotency_key"]
    assert isinstance(key, str)
    assert key in str(error.value)
    assert len(middle.requests) == ATTEMPTS
    made = faulty.mutate(ADD, branch=branch, idempotency_key=key)
    assert made.commit is not None
    assert made.commit.id == graph.commit(branch).id
    assert graph.counts(branch)["Note"] == 1


@pytest.mark.parametrize("fault", [LOST, GATEWAY])
def test_a_branch_whose_answer_was_lost_is_not_made_again(
    fault: str, faulty: RemoteGraph, middle: Proxy, graph: Graph, branch: str
) -> None:
    middle.faults += [fault]
    with pytest.raises(OutcomeUnknown, match="it is not known whether branch"):
        faulty.create_branch(f"{branch}-new", branch)
    assert len(middle.requests) == 1
    assert f"{branch}-new" in [item.name for item in graph.branches()]


def test_a_busy_server_is_given_the_time_it_asks_for(
    faulty: RemoteGraph, middle: Proxy, waits: list[float], branch: str
) -> None:
    middle.faults += [BUSY, BUSY]
    faulty.create_branch(f"{branch}-new", branch)
    assert waits == [7.0, 7.0]


def test_retries_end(faulty: RemoteGraph, middle: Proxy, waits: list[float]) -> None:
    middle.faults += [BUSY] * 10
    with pytest.raises(ServerUnavailable, match=f"attempt {ATTEMPTS} of {ATTEMPTS}"):
        faulty.counts()
    assert (len(middle.requests), len(waits)) == (ATTEMPTS, ATTEMPTS - 1)


def test_an_export_that_is_cut_off_is_never_taken_for_a_whole_one(faulty: RemoteGraph, middle: Proxy) -> None:
    middle.faults += [CUT]
    with pytest.raises(ServerUnavailable, match="in the middle of an answer"):
        b"".join(faulty.export())


NOT_REACHED: dict[str, Callable[[RemoteGraph], Any]] = {
    "read": lambda graph: graph.counts(),
    "write": lambda graph: graph.mutate(ADD),
    "branch": lambda graph: graph.delete_branch("dev"),
    "export": lambda graph: list(graph.export()),
}


@pytest.mark.parametrize("name", NOT_REACHED)
def test_a_server_that_cannot_be_reached_has_changed_nothing(name: str, waits: list[float]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        address = RemoteAddress.of(f"http://127.0.0.1:{unused.getsockname()[1]}{BASE}")
        remote = RemoteGraph(Transport(address, None, sleep=waits.append))
        with remote, pytest.raises(ServerUnavailable, match="cannot be reached"):
            NOT_REACHED[name](remote)
    assert len(waits) == ATTEMPTS - 1


def test_a_server_that_restarts_is_found_again(graph: Graph) -> None:
    with running(serving_of(graph)) as first, omnigraph.open(f"{first.address}{BASE}", token=None) as remote:
        assert remote.counts() == graph.counts()
    with running(serving_of(graph)) as second, omnigraph.open(f"{second.address}{BASE}", token=None) as again:
        assert again.counts() == graph.counts()


def test_something_that_is_no_server_of_graphs_is_an_error_of_the_tree(live: Live) -> None:
    with omnigraph.open(f"{live.address}/graphs/nowhere", token=None) as remote, pytest.raises(OmnigraphError):
        remote.counts()
    with omnigraph.open(f"{live.address}/x/graphs/kb", token=None) as remote, pytest.raises(OmnigraphError):
        remote.counts()


def test_connections_are_reused(live: Live, graph: Graph) -> None:
    with omnigraph.open(f"{live.address}{BASE}", token=None) as remote:
        opened: list[object] = []
        pool = remote._transport._client._transport._pool  # type: ignore[attr-defined] # inside of the library
        for _ in range(3):
            remote.counts()
            opened += [connection for connection in pool.connections if connection not in opened]
        assert len(opened) == 1
