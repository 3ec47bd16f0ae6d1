"""Names of the branches of tasks: ``agent/<actor>/<task>``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from omnigraph.core.ids import is_ulid, ulid_milliseconds

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph

PREFIX: Final = "agent"


def actor_part(actor: str) -> str:
    """The name of an actor as part of a branch: other characters than letters, digits, ``.``, ``_`` become ``-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", actor).strip(".-") or "agent"


def task_branch(actor: str, task: str) -> str:
    """The branch of a task."""
    return f"{PREFIX}/{actor_part(actor)}/{task}"


def task_branches(graph: Graph, actor: str) -> list[str]:
    """The branches of the tasks of an actor, oldest first."""
    start = task_branch(actor, "")
    return sorted(
        info.name
        for info in graph.branches()
        # Two actors may have the same part of a name; the branch records which of them made it.
        if info.name.startswith(start) and is_ulid(info.name[len(start) :]) and info.actor in (None, actor)
    )


def task_time(branch: str) -> int:
    """Milliseconds since 1970 at which a task was started."""
    return ulid_milliseconds(branch.rpartition("/")[2])
