"""The two ways in which an agent works on a graph: tools of the Model Context Protocol, and verbs over HTTP."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol

import httpx2
import mcp
from anyio.from_thread import BlockingPortal
from mcp.client.streamable_http import streamable_http_client

from omnigraph import RemoteGraph
from omnigraph.errors import MergeConflicts, NotFoundError, OutcomeUnknown, PreconditionFailed

READ = """
query one($name: String) {
    match { $c: Counter { name: $name } }
    return { $c.value as value, $c.note as note }
}
"""
NOTE = "query note($name: String, $note: String) { update Counter set { note: $note } where name = $name }"
TRACES = "query traces($name: String) { match { $t: Trace { name: $name } } return { $t.step as step } }"
VERB_BRANCHES = "work/"
"""Prefix of the branches that agents make themselves."""
ATTEMPTS_MAX = 200
"""Previews of one merge, each refused only if another task was merged in between; and branches of one task."""

Record = Mapping[str, Any]


class OpenTasks(Exception):
    """The actor has tasks that an earlier life of the agent left open."""

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(*tasks)
        self.tasks = tasks


class Refused(Exception):
    """The tool answered with a message for its caller."""


class Road(Protocol):
    """What an agent can do. A run is the id of a task."""

    def start(self) -> str: ...
    def read(self, run: str, text: str, name: str) -> list[dict[str, Any]]: ...
    def write(self, run: str, upserts: Sequence[Record], deletes: Sequence[str]) -> None: ...
    def note(self, run: str, name: str, note: str) -> None: ...
    def finish(self, run: str, take: str | None) -> str: ...
    def undo(self, run: str) -> str: ...


@asynccontextmanager
async def connected(address: str, token: str) -> AsyncIterator[mcp.Client]:
    """A client of the SDK over Streamable HTTP."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=600, verify=False) as http,
        mcp.Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        yield client


class ToolRoad:
    """Tools: the server makes the branch of a task, and decides whether it is merged."""

    def __init__(self, portal: BlockingPortal, client: mcp.Client) -> None:
        self._portal, self._client = portal, client
        self._branches: dict[str, str] = {}

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._portal.call(partial(self._client.call_tool, tool, arguments))
        if answer.is_error:
            raise Refused(answer.content[0].text)
        return dict(answer.structured_content or {})

    def start(self) -> str:
        try:
            started = self._call("start_task", goal="a task of the fleet")
        except Refused as refusal:
            tasks = re.findall(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", str(refusal))
            if "are open" not in str(refusal) or not tasks:
                raise
            raise OpenTasks(tasks) from refusal
        self._branches[started["task"]] = started["branch"]
        return str(started["task"])

    def read(self, run: str, text: str, name: str) -> list[dict[str, Any]]:
        return list(self._call("query", text=text, params={"name": name}, at=self._branches[run])["rows"])

    def write(self, run: str, upserts: Sequence[Record], deletes: Sequence[str]) -> None:
        places = [{"type": "Trace", "id": name} for name in deletes]
        self._call("write", task=run, upserts=list(upserts), deletes=places)

    def note(self, run: str, name: str, note: str) -> None:
        self._call("mutate", task=run, text=NOTE, params={"name": name, "note": note})

    def finish(self, run: str, take: str | None) -> str:
        # Conflicts cannot be settled by the tools, so `take` has no meaning here.
        return str(self._call("finish_task", task=run)["status"])

    def undo(self, run: str) -> str:
        try:
            return str(self._call("undo_task", task=run)["status"])
        except Refused as refusal:
            if "conflict" in str(refusal) or "no open task" in str(refusal):
                return "refused"
            raise


class VerbRoad:
    """Verbs of a remote graph: the agent makes its branches and merges itself, with resolutions where it wants."""

    def __init__(self, graph: RemoteGraph, actor: str, first: int) -> None:
        self._graph, self._actor, self._number = graph, actor, first

    def start(self) -> str:
        for _ in range(ATTEMPTS_MAX):
            self._number += 1
            run = f"{self._actor}.{self._number}"
            # A branch that may have been created is left alone: nothing refers to it.
            with suppress(OutcomeUnknown):
                self._graph.create_branch(f"{VERB_BRANCHES}{run}")
                return run
        raise AssertionError("no branch could be created")

    def read(self, run: str, text: str, name: str) -> list[dict[str, Any]]:
        return self._graph.query(text, {"name": name}, branch=f"{VERB_BRANCHES}{run}").to_dicts()

    def write(self, run: str, upserts: Sequence[Record], deletes: Sequence[str]) -> None:
        branch, provenance = f"{VERB_BRANCHES}{run}", {"run": run}
        records = [
            {"edge": item["type"], "from": item["source"], "to": item["target"], "data": {}}
            if "source" in item
            else {"type": item["type"], "data": item["data"]}
            for item in upserts
        ]
        self._graph.load(records, "upsert", branch=branch, provenance=provenance)
        for name in deletes:
            text = "query drop($name: String) { delete Trace where name = $name }"
            self._graph.mutate(text, {"name": name}, branch=branch, provenance=provenance)

    def note(self, run: str, name: str, note: str) -> None:
        self._graph.mutate(NOTE, {"name": name, "note": note}, branch=f"{VERB_BRANCHES}{run}", provenance={"run": run})

    def finish(self, run: str, take: str | None) -> str:
        branch = f"{VERB_BRANCHES}{run}"
        # Most tasks contradict nothing, and a preview would only make them lose more races.
        merged = self._merge(run) or (take is not None and self._settle(run, take))
        if merged:
            self._graph.delete_branch(branch)
        return "merged" if merged else "conflicts"

    def _merge(self, run: str) -> bool:
        try:
            self._graph.merge(f"{VERB_BRANCHES}{run}", provenance={"run": run})
        except MergeConflicts:
            return False
        return True

    def _settle(self, run: str, take: str) -> bool:
        """Merge exactly what a preview showed, with all of its conflicts settled in favour of one side."""
        for _ in range(ATTEMPTS_MAX):
            preview = self._graph.merge_preview(f"{VERB_BRANCHES}{run}")
            choices = [
                {"type": item.type_name(), "id": item.id, "property": item.property, "take": take}
                for item in preview.conflicts
            ]
            if choices:
                preview = self._graph.merge_preview(f"{VERB_BRANCHES}{run}", resolutions=choices)
            try:
                self._graph.merge(preview, provenance={"run": run})
            except (PreconditionFailed, MergeConflicts):
                continue
            return True
        return False

    def undo(self, run: str) -> str:
        try:
            self._graph.delete_branch(f"{VERB_BRANCHES}{run}")
        except NotFoundError:
            pass
        else:
            return "deleted"
        try:
            reverted = self._graph.revert(run=run, message=f"undo {run}")
        except (MergeConflicts, NotFoundError):
            return "refused"
        return reverted.outcome
