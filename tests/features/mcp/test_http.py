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
