"""What writes and listings answer: small frozen values with a JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.core.commit import GraphCommit
from omnigraph.core.html import html_table
from omnigraph.core.profile import OperatorProfile
from omnigraph.engine.profile_text import Profiled
from omnigraph.history.state import ManifestState
from omnigraph.manifest.layout import FORMAT
from omnigraph.manifest.refs import Damaged


def commit_json(commit: GraphCommit) -> dict[str, Any]:
    """A commit as the reference shows it, with what we know beyond that."""
    return {
        "graph_commit_id": commit.id,
        "graph_branch": None if commit.branch == "main" else commit.branch,
        "graph_manifest_version": commit.manifest.counter,
        "parent_commit_id": commit.parents[0] if commit.parents else None,
        "merged_parent_commit_id": commit.parents[1] if len(commit.parents) > 1 else None,
        "actor_id": commit.actor,
        "created_at": commit.created_at_us,
        "kind": commit.kind.value,
        "message": commit.message,
        "idempotency_key": commit.idempotency_key,
        "provenance": dict(commit.provenance),
        "tables": [
            {
                "table_key": change.key,
                "table_version": change.after[1] if change.after else None,
                "inserted": change.inserted,
                "updated": change.updated,
                "deleted": change.deleted,
            }
            for change in commit.tables
        ],
    }


def snapshot_json(state: ManifestState) -> dict[str, Any]:
    """The tables of a snapshot as the reference shows them, edges first, with the commit they belong to."""
    return {
        "graph_branch": state.branch,
        "graph_commit_id": state.head,
        "graph_manifest_version": state.counter,
        "internal_schema_version": FORMAT,
        "datasets": [
            {
                "entity_kind": key.split(":", 1)[0],
                "type_name": key.split(":", 1)[1],
                "dataset_path": pin.location,
                "published_dataset_version": pin.table_version,
                "native_dataset_branch": None,
                "entity_count": pin.rows,
            }
            for key, pin in sorted(state.tables.items())
        ],
    }


@dataclass(frozen=True, slots=True, repr=False)
class MutationResult(Profiled):
    """What a mutation did. ``commit`` is None if nothing matched."""

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

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "actor_id": self.actor,
            "commit": None if self.commit is None else commit_json(self.commit),
        }


@dataclass(frozen=True, slots=True, repr=False)
class LoadResult(Profiled):
    """What a load brought in, by type; counts are rows of the input."""

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

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "base_branch": self.base_branch,
            "branch_created": self.branch_created,
            "mode": self.mode,
            "nodes": [{"name": name, "entities_loaded": count} for name, count in sorted(self.nodes.items())],
            "edges": [{"name": name, "entities_loaded": count} for name, count in sorted(self.edges.items())],
            "total_entities": self.total,
            **({"rejected": self.rejected} if self.rejected else {}),
            "actor_id": self.actor,
            "commit": commit_json(self.commit),
        }


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """A branch and its head."""

    name: str
    head: str
    created_at_us: int
    parent_commit: str | None = None
    actor: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "head": self.head,
            "created_at": self.created_at_us,
            "parent_commit": self.parent_commit,
            "actor_id": self.actor,
        }


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
    """What would be lost with a branch, once cleanup gives it up: commits that no other branch has, newest first."""

    name: str
    head: str
    commits: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dry_run": True, "head": self.head, "lost_commit_ids": list(self.commits)}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What ``verify`` found. Empty problems mean that every file of every commit it looked at is as it was written."""

    commits: int
    files: int
    bytes: int
    problems: tuple[VerifyProblem, ...] = field(default=())
    remarks: tuple[VerifyProblem, ...] = field(default=())
    """Files that are missing or damaged and hurt no commit, such as what a power cut leaves of a mark."""

    @property
    def is_clean(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.is_clean,
            "commits": self.commits,
            "files": self.files,
            "bytes": self.bytes,
            "problems": [problem.to_json() for problem in self.problems],
            "remarks": [remark.to_json() for remark in self.remarks],
        }


@dataclass(frozen=True, slots=True)
class VerifyProblem:
    """A file that is missing or not as it was written, or a table whose entities do not fit; and its commits."""

    path: str
    what: str
    commits: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "what": self.what, "commits": list(self.commits)}
