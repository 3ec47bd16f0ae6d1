"""A fleet of agents: each works on a branch through MCP tools, a lead reviews, merges, and undoes one of them.

Run it in this directory: python fleet.py [DIRECTORY]

The server listens on loopback. The agents are small programs that read a report each: a regular expression stands where
a model would read the text, so no key is needed and every run ends the same.
"""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client

import omnigraph

HERE = Path(__file__).parent
AGENTS = ("ada", "bo", "cy", "dee", "eve", "fay")
CRASHES = "eve"
"""This agent ends in the middle of its task."""
MISTAKEN = "bo"
"""The report of this agent turns out to be wrong after its task was merged."""
KNOWN = [{"name": "Acme", "employees": 100}, {"name": "Birch"}, {"name": "Cedar"}, {"name": "Dogwood"}]
ALL = """
query all() {
    match { $c: Company }
    return { $c.name as name, $c.city as city, $c.employees as employees }
    order { $c.name }
}
"""
SUPPLIES = """
query supplies() {
    match { $a: Company $a supplies $b }
    return { $a.name as supplier, $b.name as buyer }
    order { $a.name, $b.name }
}
"""


@contextmanager
def serving(graph: Path, tokens: dict[str, str]) -> Iterator[str]:
    """The address of the graph behind a server of its own. Tasks end in a review: `--mcp write`, not `merge`."""
    command = [sys.executable, "-m", "omnigraph", "serve", f"kb={graph}", "--bind", "127.0.0.1:0"]
    command += ["--mcp", "write", "--policy", str(HERE / "policy.yaml"), "--no-page", "--readers", "0"]
    environment = {**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(tokens)}
    with (
        graph.with_suffix(".log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        listening = server.stdout.readline().strip().removeprefix("OMNIGRAPH_LISTEN_ADDR=")
        try:
            yield f"http://{listening}/graphs/kb"
        finally:
            server.terminate()


def entities(report: str, known: set[str]) -> list[dict[str, Any]]:
    """What a report says, as typed entities: companies first, because edges need their ends."""
    companies: dict[str, dict[str, Any]] = {}
    edges = []
    for line in report.splitlines():
        if said := re.fullmatch(r"(\w+) is based in (\w+)\.", line):
            companies.setdefault(said[1], {})["city"] = said[2]
        elif said := re.fullmatch(r"(\w+) has (\d+) employees\.", line):
            companies.setdefault(said[1], {})["employees"] = int(said[2])
        elif said := re.fullmatch(r"(\w+) supplies (\w+)\.", line):
            edges.append({"type": "Supplies", "source": said[1], "target": said[2]})
            for name in {said[1], said[2]} - known:
                companies.setdefault(name, {})
    nodes = [{"type": "Company", "data": {"name": name, **values}} for name, values in companies.items()]
    return nodes + edges


@dataclass
class Outcome:
    """What an agent reports: the branch of its task, and whether it got to the end."""

    agent: str
    branch: str
    status: str
    entities: int


async def work(agent: str, address: str, token: str) -> Outcome:
    """One agent: start a task, read, write, preview, finish."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        mcp.Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(tool, arguments)
            if answer.is_error:
                raise RuntimeError(f"{tool}: {answer.content}")
            return dict(answer.structured_content or {})

        task = await call("start_task", goal=f"Read the report of {agent}")
        known = {row["name"] for row in (await call("query", text=ALL))["rows"]}
        found = entities((HERE / "reports" / f"{agent}.txt").read_text(encoding="utf-8"), known)
        await call("write", task=task["task"], upserts=found, message=f"Report of {agent}")
        if agent == CRASHES:
            return Outcome(agent, task["branch"], "crashed", len(found))
        await call("preview_merge", task=task["task"])
        finished = await call("finish_task", task=task["task"])
        return Outcome(agent, task["branch"], finished["status"], len(found))


def review(lead: omnigraph.RemoteGraph, outcome: Outcome) -> None:
    """Merge a finished task exactly as it was previewed. Of two numbers of employees the larger one is taken."""
    preview = lead.merge_preview(outcome.branch)
    choices = []
    for conflict in preview.conflicts:
        take = "source" if conflict.source > conflict.target else "target"
        choices.append({"type": conflict.type_name(), "id": conflict.id, "property": conflict.property, "take": take})
        said = f"was {conflict.base}, main has {conflict.target}, {outcome.agent} says {conflict.source}"
        print(f"  conflict: {conflict.id}.{conflict.property} {said}; the larger one is kept")
    if choices:
        preview = lead.merge_preview(outcome.branch, resolutions=choices)
    lead.merge(preview, message=f"Reviewed task of {outcome.agent}")
    lead.delete_branch(outcome.branch)
    changes = [f"{table.key} +{table.inserted} ~{table.updated}" for table in preview.tables]
    print(f"  {outcome.agent}: merged ({', '.join(changes) or 'nothing left to change'})")


def show(graph: omnigraph.RemoteGraph) -> None:
    for row in graph.query(ALL):
        print(f"  {row['name']}: {row['city'] or '?'}, {row['employees'] or '?'} employees")
    edges = [f"{row['supplier']} -> {row['buyer']}" for row in graph.query(SUPPLIES)]
    print("  supplies:", ", ".join(edges) or "nothing known")


def main(directory: Path) -> None:
    omnigraph.create(directory / "fleet.omni", (HERE / "companies.pg").read_text(encoding="utf-8")).load(
        KNOWN, type_name="Company", actor="lead", message="Companies we know"
    )
    tokens = {actor: secrets.token_hex(16) for actor in ("lead", *AGENTS)}
    with (
        serving(directory / "fleet.omni", tokens) as address,
        omnigraph.open(address, token=tokens["lead"]) as lead,
        ThreadPoolExecutor(len(AGENTS)) as threads,
    ):
        print(f"{len(AGENTS)} agents work at the same time, each on a branch of its own:")
        running = [threads.submit(anyio.run, work, agent, address, tokens[agent]) for agent in AGENTS]
        outcomes = [task.result() for task in running]
        for outcome in outcomes:
            print(f"  {outcome.agent}: {outcome.entities} entities written, {outcome.status}")
        print("main has seen nothing of it:")
        show(lead)

        print("the lead reviews the finished tasks:")
        for outcome in outcomes:
            if outcome.status == "review":
                review(lead, outcome)
            else:
                lead.delete_branch(outcome.branch)
                print(f"  {outcome.agent}: dropped, the task was not finished")
        print("main after the reviews:")
        show(lead)

        print(f"the report of {MISTAKEN} was wrong; everything of this agent is undone:")
        undone = lead.revert(actor=MISTAKEN, message=f"The report of {MISTAKEN} was wrong")
        print(f"  {undone.outcome}: {len(undone.reverted)} commit; the work of the others, earlier and later, stays")
        show(lead)
        print("history of main, newest first:")
        for commit in lead.commits():
            print(f"  {commit.actor}: {commit.message or commit.kind.value}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
