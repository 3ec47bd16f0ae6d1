"""What to do with a staged plan when others published first: one pure table.

A row of the table is a decision and the facts it needs; exactly one row matches any observation, and a test walks
them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.history.plan import PublishPlan, WriteMode
from omnigraph.history.state import ManifestState


class Decision(Enum):
    """What happens to a plan whose base is no longer the head."""

    REPUBLISH = "republish"
    """Nothing it wrote or read has moved: publish the same staged versions beside the others' new pins."""
    RESTAGE = "restage"
    """Validate again on the new state and stage the same delta on the new pins."""
    RECHECK = "recheck"
    """As RESTAGE, but only if the entities that were read to decide are still the same; else a conflict."""
    CONFLICT = "conflict"
    """The two changes cannot both stand."""


class Movement(Enum):
    """What happened to a table since the plan was made."""

    NONE = "none"
    MAINTENANCE = "maintenance"
    LOGICAL = "logical"


@dataclass(frozen=True, slots=True)
class Rebase:
    """The decision, and for a conflict the table that decided it."""

    decision: Decision
    table: str | None = None


_WRITE_DECISIONS: dict[tuple[WriteMode, Movement], Decision] = {
    **{(mode, Movement.NONE): Decision.REPUBLISH for mode in WriteMode},
    **{(mode, Movement.MAINTENANCE): Decision.RESTAGE for mode in WriteMode},
    (WriteMode.APPEND, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.UPSERT, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.MODIFY, Movement.LOGICAL): Decision.RECHECK,
    (WriteMode.OVERWRITE, Movement.LOGICAL): Decision.CONFLICT,
    (WriteMode.REWRITE, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.MERGE, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.ALTER, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.CREATE, Movement.LOGICAL): Decision.CONFLICT,
    (WriteMode.DROP, Movement.LOGICAL): Decision.CONFLICT,
}
_SEVERITY = (Decision.REPUBLISH, Decision.RESTAGE, Decision.RECHECK, Decision.CONFLICT)


def decide_write(mode: WriteMode, movement: Movement) -> Decision:
    """The decision for one table that the plan writes."""
    return _WRITE_DECISIONS[mode, movement]


def decide_read(movement: Movement) -> Decision:
    """The decision for one table that validation only read: its content counts, and maintenance leaves that."""
    return Decision.RESTAGE if movement is Movement.LOGICAL else Decision.REPUBLISH


def decide(current: ManifestState, since: Iterable[GraphCommit], plan: PublishPlan) -> Rebase:
    """The strictest decision over all tables of the plan, given the commits that were published since its base."""
    commits = list(since)
    moved = movements(commits)
    worst = Rebase(Decision.REPUBLISH)
    if plan.info.merged_parents and any(len(commit.parents) > 1 for commit in commits):
        # Another merge may have brought the same commits, and with them another base.
        worst = Rebase(Decision.RESTAGE, "history")
    if current.schema_digest != plan.base.schema_digest:
        # A text replaces the schema it was written for. Merges and reverts are decided again, like rows.
        is_text = plan.info.kind is CommitKind.SCHEMA
        worst = _stricter(worst, Decision.CONFLICT if is_text else Decision.RESTAGE, "schema")
    for write in plan.writes:
        worst = _stricter(worst, decide_write(write.mode, moved.get(write.key, Movement.NONE)), write.key)
    for key in sorted(plan.reads):
        worst = _stricter(worst, decide_read(moved.get(key, Movement.NONE)), key)
    return worst


def _stricter(worst: Rebase, decision: Decision, table: str) -> Rebase:
    return Rebase(decision, table) if _SEVERITY.index(decision) > _SEVERITY.index(worst.decision) else worst


def movements(commits: Iterable[GraphCommit]) -> dict[str, Movement]:
    """How each table moved, judged by the kind of the commits that moved it and by nothing else."""
    moved: dict[str, Movement] = {}
    for commit in commits:
        for change in commit.tables:
            if commit.kind.is_logical:
                moved[change.key] = Movement.LOGICAL
            else:
                moved.setdefault(change.key, Movement.MAINTENANCE)
    return moved
