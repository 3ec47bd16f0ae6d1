"""``omnigraph mcp`` as an agent starts it: a process on standard input and output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import omnigraph

mcp = pytest.importorskip("mcp")


def test_a_client_lists_and_calls_tools_of_a_process(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key }")
    (tmp_path / "stored.gq").write_text("query all() { match { $p: Person } return { $p.name } }", encoding="utf-8")
    words = ["-m", "omnigraph", "mcp", graph.uri, "--allow-writes", "--as", "bot", "--queries"]
    arguments = [*words, str(tmp_path / "stored.gq")]
    program = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def use() -> tuple[set[str], Any, Any]:
        async with mcp.Client(program) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            task = (await client.call_tool("start_task", {"goal": "x"})).structured_content["task"]
            upserts = [{"type": "Person", "data": {"name": "ada"}}]
            written = await client.call_tool("write", {"task": task, "upserts": upserts})
            return names, written, await client.call_tool("all", {})

    names, written, answer = anyio.run(use)
    assert {"start_task", "all", "query"} <= names
    assert written.structured_content["written"]["actor_id"] == "bot"
    assert answer.structured_content["rows"] == []
    assert any(branch.name.startswith("agent/bot/") for branch in graph.branches())
