"""The origin of exported rows, which formats with metadata state: Parquet in its footer, tables in their properties."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.engine.snapshot import Snapshot
from omnigraph.manifest.layout import read_stamp
from omnigraph.rows.arrow_types import Entity


@dataclass(frozen=True, slots=True)
class Origin:
    """The graph, branch and commit of a snapshot. Pickled to executors."""

    graph: str
    branch: str
    commit: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Origin:
        return cls(read_stamp(snapshot.store).graph_id, snapshot.branch, snapshot.commit_id)

    def facts(self, entity: Entity) -> dict[str, str]:
        """The metadata of one type's file or table."""
        return {
            "omnigraph.graph": self.graph,
            "omnigraph.branch": self.branch,
            "omnigraph.commit": self.commit,
            "omnigraph.type": entity.table_key,
        }
