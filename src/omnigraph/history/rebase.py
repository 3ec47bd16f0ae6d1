"""Optimistic concurrency: the decision table for a staged plan whose base is no longer the head, and its refusals.

Each row maps a write mode and a movement of the table to a decision. Exactly one row matches any observation, and a
test walks all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.errors import PreconditionFailed, ReadSetConflict
from omnigraph.history.plan import PublishPlan, WriteMode
from omnigraph.history.state import ManifestState


class Decision(Enum):
    """Handling of a plan whose base is no longer the head."""

    REPUBLISH = "republish"
    """No table it wrote or read has moved: publish the same staged versions beside the new pins."""
    RESTAGE = "restage"
    """Validate again on the new state and stage the same delta on the new pins."""
    RECHECK = "recheck"
    """As RESTAGE, but a conflict if the entities that the change was decided from have changed."""
    CONFLICT = "conflict"
    """The two changes cannot both stand."""


class Movement(Enum):
    """Change of a table since the base of the plan."""

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
    # Proof: such an update is a function of the entity's state, its parameters and constants, `x := f(x)`, and the
    # caller saw no value of x before choosing f. Prepared again on the winner's state, it selects by its condition,
    # computes and validates from that state alone. The result is the one of running it after the winner, which is a
    # serial order, and no increment is lost. A set to a constant is not covered: the caller may have derived it from
    # a value that it read earlier (lost update), so it stays MODIFY.
    (WriteMode.ADJUST, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.MODIFY, Movement.LOGICAL): Decision.RECHECK,
    (WriteMode.OVERWRITE, Movement.LOGICAL): Decision.CONFLICT,
    (WriteMode.REWRITE, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.MERGE, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.ALTER, Movement.LOGICAL): Decision.RESTAGE,
    (WriteMode.CREATE, Movement.LOGICAL): Decision.CONFLICT,
    (WriteMode.DROP, Movement.LOGICAL): Decision.CONFLICT,
    # The source decides the content, not the version that was sealed before.
    (WriteMode.SEAL, Movement.LOGICAL): Decision.RESTAGE,
}
_SEVERITY = (Decision.REPUBLISH, Decision.RESTAGE, Decision.RECHECK, Decision.CONFLICT)


def decide_write(mode: WriteMode, movement: Movement) -> Decision:
    """The decision for one table that the plan writes."""
    return _WRITE_DECISIONS[mode, movement]


def decide_read(movement: Movement) -> Decision:
    """The decision for one table that validation only read: maintenance does not change its content."""
    return Decision.RESTAGE if movement is Movement.LOGICAL else Decision.REPUBLISH


def decide(current: ManifestState, since: Iterable[GraphCommit], plan: PublishPlan) -> Rebase:
    """The strictest decision over all tables of the plan, given the commits that were published since its base."""
    commits = list(since)
    moved = movements(commits)
    worst = Rebase(Decision.REPUBLISH)
    if plan.info.merged_parents and any(len(commit.parents) > 1 for commit in commits):
        # Another merge may have brought the same commits, which changes the merge base.
        worst = Rebase(Decision.RESTAGE, "history")
    if current.schema_digest != plan.base.schema_digest:
        # A schema text was written to replace one particular schema. Merges and reverts are decided again, like rows.
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
    """Movement of each table, by the kind of the commits that changed it alone."""
    moved: dict[str, Movement] = {}
    for commit in commits:
        for change in commit.tables:
            if commit.kind.is_logical:
                moved[change.key] = Movement.LOGICAL
            else:
                moved.setdefault(change.key, Movement.MAINTENANCE)
    return moved


def check_precondition(state: ManifestState, expected_head: str | None) -> None:
    """Refuse a write whose caller expects another head."""
    if expected_head is not None and state.head != expected_head:
        raise PreconditionFailed(
            f"the head of {state.branch} is {state.head}, not {expected_head}",
            hint="read again and decide again",
            expected=expected_head,
            actual=state.head,
        )


def schema_conflict(base: ManifestState, current: ManifestState, reason: str | None = None) -> ReadSetConflict:
    """The error for a schema that changed under a write which does not fit the new one."""
    return ReadSetConflict(
        f"the schema of {base.branch} changed while this write was being made" + (f": {reason}" if reason else ""),
        hint="look at the new schema and decide again",
        member="schema",
        expected=base.schema_digest,
        actual=current.schema_digest,
    )


def conflict(table: str, base: ManifestState, current: ManifestState) -> ReadSetConflict:
    """The error for a table that changed under a write which cannot be rebased."""
    if table == "schema":
        return schema_conflict(base, current)
    expected, actual = (
        state.tables[table].table_version if table in state.tables else None for state in (base, current)
    )
    return ReadSetConflict(
        f"{table} changed while this write was being made: it was at version {expected} and is at {actual}",
        hint="read again and decide again",
        member=table,
        expected=expected,
        actual=actual,
    )
