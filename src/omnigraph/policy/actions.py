"""The table of actions: the resource that each one is about, and the branches that a rule can limit it to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.core.actors import Action


class Resource(Enum):
    """The two kinds of resources. A bundle is about one of them."""

    GRAPH = "graph"
    SERVER = "cluster"

    @property
    def entity_type(self) -> str:
        return "Graph" if self is Resource.GRAPH else "Server"


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """One row: which of the two branches of a request a rule may look at."""

    resource: Resource = Resource.GRAPH
    has_branch: bool = False
    has_target_branch: bool = False


_ON_BRANCH: Final = ActionInfo(has_branch=True)
_ON_TARGET: Final = ActionInfo(has_target_branch=True)

ACTIONS: Final[Mapping[Action, ActionInfo]] = {
    Action.READ: _ON_BRANCH,
    Action.EXPORT: _ON_BRANCH,
    Action.CHANGE: _ON_BRANCH,
    Action.SCHEMA_APPLY: _ON_TARGET,
    Action.BRANCH_CREATE: _ON_TARGET,
    Action.BRANCH_DELETE: _ON_TARGET,
    Action.BRANCH_MERGE: _ON_TARGET,
    Action.ADMIN: ActionInfo(),
    Action.INVOKE_QUERY: ActionInfo(),
    Action.GRAPH_LIST: ActionInfo(Resource.SERVER),
}
