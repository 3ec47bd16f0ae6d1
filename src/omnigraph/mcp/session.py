"""The session of a client: the graph as its actor sees it, the settings of the server, and the stored queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from omnigraph.core.actors import Need
from omnigraph.engine.permits.asking import is_allowed
from omnigraph.manifest.layout import MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.engine.graph import Graph
    from omnigraph.query.ir import ParameterIR


class StoredQuery(Protocol):
    """A named text that becomes a tool."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def is_mutation(self) -> bool: ...
    @property
    def parameters(self) -> Sequence[ParameterIR]: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of the operator. The defaults only read."""

    allow_writes: bool = False
    allow_main: bool = False
    """Tasks may be merged into ``main``; otherwise a person merges them."""
    branch: str = MAIN
    """The branch that is read, and that tasks start from and return to."""
    open_tasks_max: int = 1
    query_seconds_max: float = 10.0


@dataclass(frozen=True, slots=True)
class Session:
    """One caller of one graph. ``clock`` gives milliseconds since 1970, ``random`` 80 bits for new tasks."""

    graph: Graph
    clock: Callable[[], int]
    random: Callable[[], int]
    settings: Settings = Settings()
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)

    @property
    def actor(self) -> str:
        """The name of the caller in branches and commits."""
        return self.graph.actor.id if self.graph.actor is not None else "agent"

    def may(self, *needs: Need) -> bool:
        """True if the policy of the graph allows all of it."""
        return all(is_allowed(self.graph, need) for need in needs)
