"""Results of writes, branch listings and verification. Their JSON forms are in ``omnigraph.wire``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.html import html_table
from omnigraph.core.profile import OperatorProfile
from omnigraph.engine.profile_text import Profiled
from omnigraph.manifest.refs import Damaged


@dataclass(frozen=True, slots=True, repr=False)
class MutationResult(Profiled):
    """Outcome of a mutation. ``commit`` is None if nothing matched."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor: str | None
    commit: GraphCommit | None
    operators: tuple[OperatorProfile, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        made = "nothing to change" if self.commit is None else f"commit {self.commit.id}"
        changed = f"{self.affected_nodes:,} nodes, {self.affected_edges:,} edges"
        return f"<MutationResult {self.query_name} on {self.branch}: {changed}, {made}>"


@dataclass(frozen=True, slots=True, repr=False)
class LoadResult(Profiled):
    """Outcome of a load: rows of the input, counted by type."""

    branch: str
    mode: str
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    actor: str | None
    commit: GraphCommit
    base_branch: str | None = None
    branch_created: bool = False
    repeated: bool = False
    rejected: int = 0
    """Rows of the input that were set aside, where the caller wanted that."""
    operators: tuple[OperatorProfile, ...] = field(default=(), compare=False)

    @property
    def total(self) -> int:
        return sum(self.nodes.values()) + sum(self.edges.values())

    def __repr__(self) -> str:
        counts = "".join(f"\n  {name}: {count:,}" for name, count in [*self.nodes.items(), *self.edges.items()])
        made = f"{'already there as ' if self.repeated else ''}commit {self.commit.id}"
        return f"<LoadResult {self.mode} on {self.branch}: {self.total:,} entities, {made}>{counts}"


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """A branch and its head."""

    name: str
    head: str
    created_at_us: int
    parent_commit: str | None = None
    actor: str | None = None


class BranchList(list[BranchInfo]):
    """Branches, shown one a line; ``damaged`` are those that cannot be read."""

    def __init__(self, branches: Iterable[BranchInfo] = (), damaged: Iterable[Damaged] = ()) -> None:
        super().__init__(branches)
        self.damaged = tuple(damaged)

    def __repr__(self) -> str:
        shown = "".join(f"\n  {item.name} at {item.head}" for item in self)
        broken = "".join(f"\n  {item.branch or item.path}: {item.what}" for item in self.damaged)
        return f"<branches: {len(self):,}{f', {len(self.damaged):,} damaged' if self.damaged else ''}>{shown}{broken}"

    def _repr_html_(self) -> str:
        rows = [(item.name, item.head, item.actor) for item in self]
        rows += [(item.branch or item.path, f"damaged: {item.what}", None) for item in self.damaged]
        return html_table(f"branches: {len(self):,}", ("branch", "head", "actor"), rows)


@dataclass(frozen=True, slots=True)
class BranchLoss:
    """Commits that only this branch holds, newest first: cleanup removes them after the branch is deleted."""

    name: str
    head: str
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Findings of ``verify``. Without problems, every file of every commit it checked is as it was written."""

    commits: int
    files: int
    bytes: int
    problems: tuple[VerifyProblem, ...] = field(default=())
    remarks: tuple[VerifyProblem, ...] = field(default=())
    """Files that are missing or damaged and hurt no commit, such as what a power cut leaves of a mark."""

    @property
    def is_clean(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class VerifyProblem:
    """A file that is missing or not as it was written, or a table whose entities do not fit; and its commits."""

    path: str
    what: str
    commits: tuple[str, ...]
