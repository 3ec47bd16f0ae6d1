"""Results of entity resolution: clusters, scores of pairs, and the changes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.tables import TableCounts, changes_display
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.engine.history.diff import PlannedChanges

MERGED = "merged"
"""The status of a cluster that becomes one entity; the others name the reason why it does not."""

CLUSTERS_SCHEMA = pa.schema(
    [
        pa.field("survivor", pa.string()),
        pa.field("ids", pa.list_(pa.string())),
        pa.field("size", pa.int64()),
        pa.field("score", pa.float64()),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Findings of a resolution. ``clusters`` has a row for each cluster, ``pairs`` for each pair with its scores.

    The ``score`` of a cluster is that of its weakest match. ``status`` is ``merged``, or the reason why the entities
    stay apart: ``too_large``, ``conflict`` or ``cardinality``; those have no survivor.
    """

    clusters: pa.Table = field(default_factory=CLUSTERS_SCHEMA.empty_table)
    pairs: pa.Table = field(default_factory=lambda: pa.table({}))
    compared: int = 0
    """Pairs that were compared."""
    rounds: int = 0
    edges_moved: int = 0
    edges_folded: int = 0
    remarks: tuple[str, ...] = ()
    engine: str = EMBEDDED

    @property
    def merged(self) -> int:
        """Clusters that become one entity."""
        return sum(status == MERGED for status in self.clusters.column("status").to_pylist())

    @property
    def removed(self) -> int:
        """Entities that are folded into another one."""
        sizes = zip(self.clusters.column("size").to_pylist(), self.clusters.column("status").to_pylist(), strict=True)
        return sum(int(size) - 1 for size, status in sizes if status == MERGED)

    @property
    def left(self) -> int:
        """Clusters whose entities stay apart."""
        clusters: int = self.clusters.num_rows
        return clusters - self.merged

    def summary(self) -> str:
        """The counts as text."""
        left = f", {counted(self.left, 'cluster')} left apart" if self.left else ""
        found = f"{counted(self.merged, 'cluster')}, {counted(self.removed, 'entity', 'entities')} folded{left}"
        return f"{found}; {self.compared:,} pairs compared"


class _Found(Displayed):
    """The findings, as a preview and a result show them."""

    __slots__ = ()
    found: Resolved

    @property
    def clusters(self) -> pa.Table:
        """One row for each cluster: survivor, ids, size, score, status, reason."""
        return self.found.clusters

    @property
    def pairs(self) -> pa.Table:
        """One row for each pair: left, right, score, match, and the similarity of each comparison."""
        return self.found.pairs

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.found.remarks


@dataclass(frozen=True, slots=True, repr=False)
class ResolvePreview(_Found):
    """A resolution that is not committed: clusters, scores, and the changes as a diff."""

    type_name: str
    branch: str
    head: str
    found: Resolved
    changes: PlannedChanges
    tables: tuple[TableCounts, ...] = ()

    def _display(self) -> Display:
        title = f"ResolvePreview of {self.type_name} on {self.branch}: {self.found.summary()}"
        return changes_display(title, self.tables, self.remarks)


@dataclass(frozen=True, slots=True, repr=False)
class ResolveResult(_Found):
    """A resolution. ``commit`` is None if there was nothing to fold."""

    type_name: str
    branch: str
    commit: GraphCommit | None
    found: Resolved = field(default_factory=Resolved)
    tables: tuple[TableCounts, ...] = ()
    branch_created: bool = False
    repeated: bool = False

    def _display(self) -> Display:
        made = "" if self.commit is None else f", commit {self.commit.id}"
        title = f"ResolveResult of {self.type_name} on {self.branch}: {self.found.summary()}{made}"
        return changes_display(title, self.tables, self.remarks)
