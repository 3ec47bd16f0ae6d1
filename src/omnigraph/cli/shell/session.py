"""The state of a shell: the graph, the branch and moment that are read, parameters, and the output format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.snapshot import Snapshot

_SHOWN_CHARS_MAX = 20


@dataclass(frozen=True, slots=True)
class Moment:
    """A commit in the past, and the name that the user gave it."""

    name: str
    commit_id: str


@dataclass(slots=True)
class Session:
    """The values that the commands of the shell show and change."""

    graph: Graph
    branch: str = "main"
    moment: Moment | None = None
    format: str = "table"
    has_timing: bool = False
    is_read_only: bool = False
    actor: str | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    _snapshot: Snapshot | None = None

    @property
    def prompt(self) -> str:
        """``social:main> ``, with the moment if it is not the head."""
        name = self.graph.uri.rstrip("/").rpartition("/")[2].removesuffix(".omni")
        if self.moment is None:
            return f"{name}:{self.branch}> "
        shown = self.moment.name
        cut = shown if len(shown) <= _SHOWN_CHARS_MAX else f"{shown[:_SHOWN_CHARS_MAX]}…"
        return f"{name}:{self.branch}@{cut}> "

    @property
    def place(self) -> dict[str, str | None]:
        """The arguments ``branch`` and ``at`` of a read."""
        if self.moment is None:
            return {"branch": self.branch, "at": None}
        return {"branch": None, "at": self.moment.commit_id}

    def snapshot(self) -> Snapshot:
        """The graph as it is read now."""
        self._snapshot = self.graph.snapshot(self.branch if self.moment is None else None, at=self.place["at"])
        return self._snapshot

    def recent_snapshot(self) -> Snapshot:
        """The last snapshot that was read: completion must not read a remote store at every key."""
        return self._snapshot or self.snapshot()

    def switch(self, branch: str) -> None:
        """Read and write another branch, at its head."""
        self.graph.snapshot(branch)
        self.branch, self.moment, self._snapshot = branch, None, None

    def travel(self, name: str | None) -> None:
        """Read a commit, or a time on the branch; None returns to the head."""
        self.moment = None if name is None else Moment(name, self.find(name).commit_id)
        self._snapshot = None

    def find(self, name: str) -> Snapshot:
        """The snapshot that a commit, a branch, or a time on the current branch names."""
        try:
            return self.graph.snapshot(self.branch, at=name)
        except UsageError:
            # A name that needs no branch, and may lie on another one.
            return self.graph.moment(name)

    def require_writable(self) -> None:
        """Raise if entities cannot be written: in a read-only shell, and in the past."""
        self.require_writable_graph()
        if self.moment is not None:
            raise UsageError(
                f"the shell is at {self.moment.name}, in the past", hint="\\at returns to the head of the branch"
            )

    def require_writable_graph(self) -> None:
        """Raise in a read-only shell."""
        if self.is_read_only:
            raise UsageError("the shell is read-only", hint="start it without --read-only to write")
