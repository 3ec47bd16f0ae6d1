"""The table of sizes in `docs/user/mcp.md` is what a client of the SDK receives from the example graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

import omnigraph
from omnigraph.mcp.budget import CHARACTERS_PER_TOKEN
from omnigraph.mcp.server import make_server
from omnigraph.mcp.session import Session, Settings

mcp = pytest.importorskip("mcp")

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "user" / "mcp.md"
ROW = re.compile(r"^\| ([^|]+?) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
DEVIATION = 0.05
"""Ids and times have other lengths on other days."""

PEOPLE = "query q() { match { $p: Person } return { $p } limit 100 }"
ADD = {"upserts": [{"type": "Person", "data": {"email": "zoe@example.org", "name": "Zoe", "joined": "2024-01-01"}}]}
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "`describe_graph`": ("describe_graph", {}),
    "`describe_graph` of one type": ("describe_graph", {"type": "Person"}),
    "`find`": ("find", {"text": "London"}),
    "`get`": ("get", {"type": "Person", "id": "ada@example.org"}),
    "`paths`": (
        "paths",
        {"start": {"type": "Person", "id": "ada@example.org"}, "end": {"type": "Company", "id": "analytical.example"}},
    ),
    "`query`": ("query", {"text": PEOPLE}),
    "`history`": ("history", {}),
    "`diff`": ("diff", {"before": "main~1"}),
}


def measured(place: Path) -> dict[str, int]:
    """Bytes of the lists of tools and of typical answers, as text content."""
    graph = omnigraph.create(place / "social.omni", ROOT / "examples" / "social.pg")
    graph.load(ROOT / "examples" / "social.jsonl", "append")
    numbers = iter(range(1, 100))
    found: dict[str, int] = {}

    async def use(settings: Settings, *calls: tuple[str, str, dict[str, Any]]) -> list[Any]:
        session = Session(graph, lambda: 1_800_000_000_000, lambda: next(numbers), settings)
        async with mcp.Client(make_server(lambda _: session, "test")) as client:
            listed = await client.list_tools()
            name = "list of the tools that write too" if settings.allow_writes else "list of the tools that read"
            found[name] = len("".join(tool.model_dump_json(exclude_none=True) for tool in listed.tools).encode())
            results = []
            for label, tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, (label, result.content[0].text)
                found[label] = len(result.content[0].text.encode())
                results.append(result.structured_content)
            return results

    writing = Settings(allow_writes=True)
    anyio.run(use, Settings(), *[(label, *call) for label, call in READS.items()])
    [started] = anyio.run(use, writing, ("`start_task`", "start_task", {"goal": "add Zoe"}))
    task = {"task": started["task"]}
    later = [("`write`", "write", {**task, **ADD}), ("`preview_merge`", "preview_merge", task)]
    anyio.run(use, writing, *later, ("`finish_task`", "finish_task", task))
    return found


def test_the_table_holds_the_sizes_of_tool_lists_and_answers(tmp_path: Path) -> None:
    sizes = measured(tmp_path)
    table = {label: (int(a.replace(",", "")), int(b.replace(",", ""))) for label, a, b in ROW.findall(PAGE.read_text())}
    wanted = "\n".join(
        f"| {label} | {size:,} | {-(-size // CHARACTERS_PER_TOKEN):,} |" for label, size in sizes.items()
    )
    assert table.keys() == sizes.keys(), f"the table should be:\n{wanted}"
    for label, size in sizes.items():
        assert table[label][0] == pytest.approx(size, rel=DEVIATION), f"the table should be:\n{wanted}"
        assert table[label][1] == -(-table[label][0] // CHARACTERS_PER_TOKEN)
