"""Results of writes, branch listings and verification. Their JSON forms are in ``omnigraph.wire``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.profile import OperatorProfile
from omnigraph.core.tables import changes_display
from omnigraph.engine.profile_text import Profiled
from omnigraph.engine.tabular import ReturnedRows
from omnigraph.manifest.refs import Damaged


@dataclass(frozen=True, slots=True, repr=False)
class MutationResult(Displayed, Profiled):
    """Outcome of a mutation. ``commit`` is None if nothing matched."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor: str | None
    commit: GraphCommit | None
    operators: tuple[OperatorProfile, ...] = field(default=(), compare=False)
    returned: ReturnedRows | None = field(default=None, compare=False)
    """The rows of ``returning``; None if the mutation has none, or was answered by an earlier commit of its key."""

    def _display(self) -> Display:
        made = "nothing to change" if self.commit is None else f"commit {self.commit.id}"
        changed = f"{counted(self.affected_nodes, 'node')}, {counted(self.affected_edges, 'edge')}"
        title = f"MutationResult {self.query_name} on {self.branch}: {changed}, {made}"
        shown = changes_display(title, () if self.commit is None else self.commit.tables)
        return shown if self.returned is None else replace(shown, notes=[*shown.notes, repr(self.returned)])


@dataclass(frozen=True, slots=True, repr=False)
class LoadResult(Displayed, Profiled):
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
    cleared: int = 0
    """Values that mode ``merge`` made null because the input does not name them."""
    remarks: tuple[str, ...] = ()
    """Facts about the input that are no violations, such as edges that were stored a second time."""
    operators: tuple[OperatorProfile, ...] = field(default=(), compare=False)

    @property
    def total(self) -> int:
        """Entities of the input."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    @property
    def inserted(self) -> int:
        """Entities that the load added."""
        return 0 if self.repeated else sum(change.inserted for change in self.commit.tables)

    @property
    def updated(self) -> int:
        """Entities that existed and got other values."""
        return 0 if self.repeated else sum(change.updated for change in self.commit.tables)

    @property
    def deleted(self) -> int:
        """Entities that an overwrite removed."""
        return 0 if self.repeated else sum(change.deleted for change in self.commit.tables)

    @property
    def unchanged(self) -> int:
        """Entities of the input that the graph held already with the same values."""
        return 0 if self.repeated else self.total - self.inserted - self.updated

    def _display(self) -> Display:
        rows = [*self.nodes.items(), *self.edges.items()]
        made = f"{'already there as ' if self.repeated else ''}commit {self.commit.id}"
        title = f"LoadResult {self.mode} on {self.branch}: {loaded_text(self)}, {made}"
        notes = [f"{counted(self.rejected, 'row')} of the input rejected"] if self.rejected else []
        notes += [f"{counted(self.cleared, 'value')} cleared"] if self.cleared else []
        lines = [f"{name}: {count:,}" for name, count in rows]
        return Display(title, ("type", "entities"), rows, lines=lines, notes=[*notes, *self.remarks])


def loaded_text(result: LoadResult) -> str:
    """The number of loaded entities, and the effects if not all of them are new."""
    changed = f"{result.inserted:,} inserted, {result.updated:,} updated, {result.unchanged:,} unchanged"
    effects = "" if result.repeated or result.inserted == result.total else f" ({changed})"
    return (counted(result.total, "entity", "entities") if result.total else "no entities") + effects


@dataclass(frozen=True, slots=True, repr=False)
class BranchInfo(Displayed):
    """A branch and its head.

    ``ahead`` counts the commits that only this branch has, ``behind`` those that only the branch has that it is
    compared with; both are None if it is not compared.
    """

    name: str
    head: str
    created_at_us: int
    parent_commit: str | None = None
    actor: str | None = None
    ahead: int | None = None
    behind: int | None = None

    def _display(self) -> Display:
        compared = "" if self.ahead is None else f", ahead {self.ahead}, behind {self.behind}"
        return Display(f"branch {self.name} at {self.head}{f' by {self.actor}' if self.actor else ''}{compared}")


class BranchList(list[BranchInfo]):
    """Branches, shown one a line; ``damaged`` are those that cannot be read."""

    def __init__(self, branches: Iterable[BranchInfo] = (), damaged: Iterable[Damaged] = ()) -> None:
        super().__init__(branches)
        self.damaged = tuple(damaged)

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()

    def _display(self) -> Display:
        rows = [(item.name, item.head, item.actor) for item in self]
        rows += [(item.branch or item.path, f"damaged: {item.what}", None) for item in self.damaged]
        lines = [f"{item.name} at {item.head}" for item in self]
        lines += [f"{item.branch or item.path}: {item.what}" for item in self.damaged]
        broken = f", {len(self.damaged):,} damaged" if self.damaged else ""
        return Display(f"branches: {len(self):,}{broken}", ("branch", "head", "actor"), rows, lines=lines)


@dataclass(frozen=True, slots=True, repr=False)
class BranchLoss(Displayed):
    """Commits that only this branch holds, newest first: cleanup removes them after the branch is deleted."""

    name: str
    head: str
    commits: tuple[str, ...]

    def _display(self) -> Display:
        title = f"deleting branch {self.name} would lose {counted(len(self.commits), 'commit')}"
        return Display(title, ("commit",), [(commit,) for commit in self.commits], lines=self.commits)


@dataclass(frozen=True, slots=True, repr=False)
class VerifyReport(Displayed):
    """Findings of ``verify``. Without problems, every file of every commit it checked is as it was written."""

    commits: int
    files: int
    bytes: int
    problems: tuple[VerifyProblem, ...] = field(default=())
    remarks: tuple[VerifyProblem, ...] = field(default=())
    """Findings that hurt no commit: a mark that a power cut damaged, a version that another program wrote."""

    @property
    def is_clean(self) -> bool:
        return not self.problems

    def _display(self) -> Display:
        checked = f"{counted(self.commits, 'commit')}, {counted(self.files, 'file')}, {counted(self.bytes, 'byte')}"
        state = "no problems" if self.is_clean else counted(len(self.problems), "problem")
        rows = [("problem", item.path, item.what) for item in self.problems]
        rows += [("remark", item.path, item.what) for item in self.remarks]
        lines = [f"{kind}: {path} {what}" for kind, path, what in rows]
        return Display(f"VerifyReport: {state} in {checked}", ("", "file", "finding"), rows, lines=lines)


@dataclass(frozen=True, slots=True, repr=False)
class VerifyProblem(Displayed):
    """A file that is missing or not as it was written, or a table whose entities do not fit; and its commits."""

    path: str
    what: str
    commits: tuple[str, ...]

    def _display(self) -> Display:
        return Display(f"{self.path} {self.what}, in {counted(len(self.commits), 'commit')}")
