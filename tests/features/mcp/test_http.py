"""Tools for agents over HTTP: the tokens and policies of the server decide about tools and answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

import omnigraph
from omnigraph.core.actors import Actor
from omnigraph.server.agents import agent_tools
from tests.features.server.live import BASE, Live, running, serving_of

mcp = pytest.importorskip("mcp")
streamable = pytest.importorskip("mcp.client.streamable_http")

TOKENS = {"ann-token": Actor("ann"), "eve-token": Actor("eve")}
ADD = {"upserts": [{"type": "Person", "data": {"name": "ada"}}]}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    place: Path = tmp_path_factory.mktemp("mcp")
    graph = omnigraph.create(place / "kb.omni", "node Person { name: String @key }")
    serving = serving_of(graph, tokens={"ann": "ann-token", "eve": "eve-token"})
    with running(serving, agents=agent_tools("merge", "test")) as live:
        yield live


def call(live: Live, token: str, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def use() -> list[Any]:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, verify=False) as client:
            transport = streamable.streamable_http_client(f"{live.address}{BASE}/mcp", http_client=client)
            async with mcp.Client(transport) as agent:
                return [await agent.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(use)


def test_the_actor_of_the_token_owns_the_task(live: Live) -> None:
    (started,) = call(live, "ann-token", ("start_task", {"goal": "add ada"}))
    task = started.structured_content["task"]
    assert started.structured_content["branch"].startswith("agent/ann/")
    (foreign,) = call(live, "eve-token", ("write", {"task": task, **ADD}))
    assert foreign.is_error
    written, finished = call(live, "ann-token", ("write", {"task": task, **ADD}), ("finish_task", {"task": task}))
    assert written.structured_content["written"]["actor_id"] == "ann"
    assert finished.structured_content["status"] == "merged"


def test_without_tokens_a_page_must_be_of_this_machine(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key }")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    def status(**headers: str) -> int:
        with live.client() as client:
            return int(client.post(f"{BASE}/mcp", json=body, headers=headers).status_code)

    with running(serving_of(graph), agents=agent_tools("merge", "test")) as live:
        # The name of an attacker that resolves to this machine makes a page of the same origin.
        assert status(host="evil.example:80", origin="http://evil.example:80") == 403
        assert status(host="localhost:80", origin="http://localhost:80") == 200
        assert status(origin=live.address) == 200
        assert status(host="proxy.example") == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH"])
def test_no_stream_is_opened_that_a_client_could_hold(live: Live, method: str) -> None:
    with live.client("ann-token") as client:
        answer = client.request(method, f"{BASE}/mcp", headers={"accept": "application/json, text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    with live.client() as client:
        assert client.request(method, f"{BASE}/mcp").status_code == 401


RAW = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":%s}}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"5",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        CALL.encode() % b"5",
        CALL.encode() % b'{"text": "match { $p: Person } return { $p }", "limit": NaN}',
        CALL.encode() % b'{"text": "\\ud800"}',
        CALL.encode() % (b'{"params":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001),
        b" " * (2 << 20),
    ],
    ids=["empty", "cut", "number", "list", "bytes", "deep", "arguments", "nan", "surrogate", "nested", "large"],
)
def test_a_body_that_is_no_call_is_answered_and_harms_nothing(live: Live, body: bytes) -> None:
    with live.client("ann-token") as client:
        answer = client.post(f"{BASE}/mcp", content=body, headers=RAW)
        assert answer.status_code < 500
        assert len(answer.content) < 10_000
        listed = client.post(f"{BASE}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=RAW)
        assert "describe_graph" in listed.text


@pytest.mark.parametrize(
    ("mode", "writes", "merges"),
    [("read", False, False), ("write", True, False), ("merge", True, True)],
)
def test_a_mode_allows_no_more_than_its_name(mode: str, writes: bool, merges: bool) -> None:
    tools = agent_tools(mode, "test")
    assert tools is not None
    assert (tools.settings.allow_writes, tools.settings.allow_main) == (writes, merges)
    assert agent_tools("off", "test") is None


def test_a_request_without_a_token_or_of_another_origin_is_refused(live: Live) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with live.client() as client:
        assert client.post(f"{BASE}/mcp", json=body).status_code == 401
    with live.client("ann-token") as client:
        assert client.post(f"{BASE}/mcp", json=body, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post("/graphs/other/mcp", json=body).status_code == 404
