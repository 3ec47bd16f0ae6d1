"""The table of tools: name, arguments, needed rights, hints for the client, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.mcp import entities, finding, models, reading, tasks
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.session import Session


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Its description is the first thing that an agent reads."""

    name: str
    description: str
    arguments: type[models.Arguments]
    run: Callable[[Session, Any], Answer]
    action: Action = Action.READ
    writes: bool = False
    destructive: bool = False
    drops: bool = False
    """The tool deletes the branch of a task."""

    def is_offered(self, session: Session) -> bool:
        """True if the settings of the server and the rights of the actor allow the tool."""
        if not self.writes:
            return session.may(Need(self.action, session.settings.branch))
        return session.settings.allow_writes and session.may(*tasks.needs(session), *self._more(session))

    def _more(self, session: Session) -> tuple[Need, ...]:
        return (tasks.drop_need(session, tasks.ANY_TASK),) if self.drops else ()

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.arguments.model_json_schema()


TOOLS: Final = (
    Tool(
        "describe_graph",
        "List the node and edge types of the graph with counts, keys and properties. Call this first.",
        models.Describe,
        reading.describe_graph,
    ),
    Tool(
        "find",
        "Search nodes by words, by meaning, or by both, over several types together.",
        models.Find,
        finding.find,
    ),
    Tool("get", "Show one node with all properties and its neighbours.", models.Get, entities.get),
    Tool("paths", "Find a shortest path between two nodes over edges of any type.", models.Paths, entities.paths),
    Tool(
        "query",
        "Run a read in the query language .gq; the prompt write-a-query explains it. Mistakes are answered with the"
        " place and a suggestion.",
        models.Query,
        reading.query,
    ),
    Tool("history", "List the newest commits: who changed what, when and why.", models.History, reading.history),
    Tool("diff", "Compare two commits, branches or times: counts first, then changes.", models.Diff, reading.diff),
    Tool(
        "start_task",
        "Start a task on a branch of its own. Other branches do not show its writes until it is merged.",
        models.StartTask,
        tasks.start_task,
        writes=True,
    ),
    Tool(
        "write",
        "Insert, update or delete entities on the branch of a task; properties that are not named keep their values.",
        models.Write,
        tasks.write,
        writes=True,
        destructive=True,
    ),
    Tool(
        "mutate",
        "Run a mutation in the query language .gq on the branch of a task.",
        models.Mutate,
        tasks.mutate,
        writes=True,
        destructive=True,
    ),
    Tool(
        "preview_merge",
        "Show what merging a task would change, and its conflicts. Nothing is written.",
        models.Task,
        tasks.preview_merge,
        writes=True,
    ),
    Tool(
        "finish_task",
        "Finish a task: merge it where that is allowed, otherwise leave it for review by a person.",
        models.FinishTask,
        tasks.finish_task,
        writes=True,
    ),
    Tool(
        "undo_task",
        "Undo a task: drop its branch, or revert its merge.",
        models.Task,
        tasks.undo_task,
        writes=True,
        destructive=True,
        drops=True,
    ),
)


def offered(session: Session) -> Iterator[Tool]:
    """The tools that the caller may use."""
    return (tool for tool in TOOLS if tool.is_offered(session))


def tool_named(session: Session, name: str) -> Tool | None:
    """A tool that the caller may use; None for others, whether they exist or not."""
    return next((tool for tool in offered(session) if tool.name == name), None)
