"""Result of a schema change: its steps and its commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.schema.migration import MigrationPlan, steps_display


@dataclass(frozen=True, slots=True, repr=False)
class SchemaResult(Displayed):
    """The steps that were taken. ``commit`` is None if the branch had this schema already."""

    uri: str
    branch: str
    plan: MigrationPlan
    commit: GraphCommit | None
    manifest_version: int
    repeated: bool = False
    remarks: tuple[str, ...] = ()
    """Facts about external types that were sealed, such as properties without a column."""

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def _display(self) -> Display:
        if self.commit is None:
            return Display(f"SchemaResult {self.branch}: no schema changes, no commit")
        title = f"SchemaResult {self.branch} at {self.commit.id}: {counted(len(self.plan.steps), 'step')}"
        return replace(steps_display(title, self.plan.steps), notes=self.remarks)
