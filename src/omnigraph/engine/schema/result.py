"""Result of a schema change: its steps and its commit."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.commit import GraphCommit
from omnigraph.core.html import html_table
from omnigraph.schema.migration import MigrationPlan, step_text


@dataclass(frozen=True, slots=True)
class SchemaResult:
    """The steps that were taken. ``commit`` is None if the branch had this schema already."""

    uri: str
    branch: str
    plan: MigrationPlan
    commit: GraphCommit | None
    manifest_version: int
    repeated: bool = False

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def __repr__(self) -> str:
        if self.commit is None:
            return f"<SchemaResult {self.branch}: no schema changes, no commit>"
        number = len(self.plan.steps)
        steps = "".join(f"\n  - {step_text(step)}" for step in self.plan.steps)
        return f"<SchemaResult {self.branch} at {self.commit.id}: {number} step{'' if number == 1 else 's'}>{steps}"

    def _repr_html_(self) -> str:
        made = "no commit" if self.commit is None else f"commit {self.commit.id}"
        rows = [(step_text(step), step.safety.value) for step in self.plan.steps]
        return html_table(f"{len(rows)} steps on {self.branch}, {made}", ("step", "safety"), rows)
