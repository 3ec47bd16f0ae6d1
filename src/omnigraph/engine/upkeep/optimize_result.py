"""What ``optimize`` answers: per table what was done and what was left alone, for programs and for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.results import commit_json
from omnigraph.storage.index.indexes import Coverage
from omnigraph.write.upkeep.optimize import TableOutcome


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeResult:
    """One outcome per table. ``commits`` is empty if there was nothing to do."""

    branch: str
    tables: tuple[TableOutcome, ...]
    commits: tuple[GraphCommit, ...]

    def __repr__(self) -> str:
        head = f"<OptimizeResult of {self.branch}: {len(self.commits)} commits>"
        return "\n".join([head, *(f"  {describe(outcome)}" for outcome in self.tables)])

    def to_json(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "commits": [commit_json(commit) for commit in self.commits],
            "tables": [_outcome_json(outcome) for outcome in self.tables],
        }


def describe(outcome: TableOutcome) -> str:
    """One line about one table."""
    done = changes(outcome)
    return f"{outcome.key}: {outcome.rows:,} rows; {done or 'nothing to do'}" + "".join(
        f"; {reason}" for reason in outcome.skipped
    )


def changes(outcome: TableOutcome) -> str:
    """What was done to one table, in words; empty if nothing was."""
    done = []
    if outcome.rows_rewritten or outcome.deleted_rows_removed:
        done.append(f"{outcome.fragments_before} -> {outcome.fragments_after} fragments")
    if outcome.deleted_rows_removed:
        done.append(f"{outcome.deleted_rows_removed:,} deleted rows removed")
    if outcome.indexes_built:
        done.append(f"indexed {', '.join(outcome.indexes_built)}")
    return "; ".join(done)


def _outcome_json(outcome: TableOutcome) -> dict[str, Any]:
    return {
        "table_key": outcome.key,
        "rows": outcome.rows,
        "fragments_before": outcome.fragments_before,
        "fragments_after": outcome.fragments_after,
        "rows_rewritten": outcome.rows_rewritten,
        "deleted_rows_removed": outcome.deleted_rows_removed,
        "indexes_built": list(outcome.indexes_built),
        "indexes": [_coverage_json(item) for item in outcome.coverage],
        "skipped": list(outcome.skipped),
        "engine": outcome.workers,
    }


def _coverage_json(coverage: Coverage) -> dict[str, Any]:
    return {
        "column": coverage.spec.column,
        "kind": coverage.spec.kind.name.lower(),
        "segments": len(coverage.segments),
        "rows_covered": coverage.covered_rows,
        "rows": coverage.rows,
    }
