"""Maintenance as JSON: optimize, cleanup, verify, repair and doctor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.wire.commits import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.mirror.result import MirrorResult
    from omnigraph.engine.results import VerifyProblem, VerifyReport
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult
    from omnigraph.engine.upkeep.repair_result import RepairReport, RepairStep, Unrepaired
    from omnigraph.manifest.refs import Damaged
    from omnigraph.storage.index.indexes import Coverage
    from omnigraph.storage.upkeep.sweep import Count, Fate
    from omnigraph.write.upkeep.optimize import TableOutcome


def optimize_json(result: OptimizeResult) -> dict[str, Any]:
    """The outcome of every table; ``commits`` is empty if there was nothing to do."""
    return {
        "branch": result.branch,
        "commits": [commit_json(commit) for commit in result.commits],
        "tables": [_outcome_json(outcome) for outcome in result.tables],
    }


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


def cleanup_json(result: CleanupResult) -> dict[str, Any]:
    """Commits and files by what happened, or in a dry run would happen, to them."""
    from omnigraph.storage.upkeep.sweep import Fate

    return {
        "dry_run": result.dry_run,
        "keep_versions": result.keep,
        "older_than_secs": None if result.older_than_us is None else result.older_than_us // 1_000_000,
        "grace_secs": result.grace_us // 1_000_000,
        "commits": {
            "retained": result.commits_retained,
            "given_up": result.commits_given_up,
            "waiting": result.commits_waiting,
            "gone": result.commits_gone,
        },
        "files": {kind: _fates_json(counts) for kind, counts in result.files.items()},
        "total": _fates_json({fate: result.total(fate) for fate in Fate}),
        "damaged": [damaged_json(item) for item in result.damaged],
    }


def _fates_json(counts: Mapping[Fate, Count]) -> dict[str, Any]:
    return {
        fate.name.lower(): {
            "files": count.files,
            "bytes": count.bytes,
            **({"until": count.until_us} if count.until_us else {}),
        }
        for fate, count in sorted(counts.items(), key=lambda item: item[0].name)
    }


def damaged_json(item: Damaged) -> dict[str, Any]:
    """A file that cannot be read, and the branch it belongs to if known."""
    return {"path": item.path, "what": item.what, "branch": item.branch}


def mirror_json(result: MirrorResult) -> dict[str, Any]:
    """A mirror after a refresh."""
    return {
        "target": result.target,
        "branch": result.branch,
        "commit": result.commit_id,
        "tables": [
            {"name": table.name, "rows": table.rows, "version": table.version, "changed": table.is_changed}
            for table in result.tables
        ],
        "removed": list(result.removed),
        "skipped": list(result.skipped),
    }


def mirror_removed_json(target: str) -> dict[str, Any]:
    """A mirror that was deleted."""
    return {"removed": target}


def verify_json(report: VerifyReport) -> dict[str, Any]:
    """The report of ``verify``; ``remarks`` are damaged files that no commit needs."""
    return {
        "ok": report.is_clean,
        "commits": report.commits,
        "files": report.files,
        "bytes": report.bytes,
        "problems": _problems_json(report.problems),
        "remarks": _problems_json(report.remarks),
    }


def _problems_json(problems: Iterable[VerifyProblem]) -> list[dict[str, Any]]:
    return [{"path": item.path, "what": item.what, "commits": list(item.commits)} for item in problems]


def repair_json(report: RepairReport) -> dict[str, Any]:
    """The steps that ``repair`` took or plans, and the damage that remains."""
    return {
        "ok": report.is_clean,
        "applied": report.applied,
        "steps": [_repair_step_json(step) for step in report.steps],
        "unrepaired": [_unrepaired_json(item) for item in report.unrepaired],
    }


def _repair_step_json(step: RepairStep) -> dict[str, Any]:
    return {"path": step.path, "what": step.what, "action": step.action, "effect": step.effect}


def _unrepaired_json(item: Unrepaired) -> dict[str, Any]:
    return {"path": item.path, "what": item.what, "commits": list(item.commits), "advice": item.advice}


def doctor_json(uri: str | None, findings: Sequence[Finding], problems: int) -> dict[str, Any]:
    """The findings of ``doctor``, each with its own facts beside the common members."""
    return {"uri": uri, "findings": [_finding_json(finding) for finding in findings], "problems": problems}


def findings_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings without their facts, which may name places of the store."""
    return {
        "findings": [
            {
                "check": finding.check,
                "verdict": finding.verdict.value,
                "found": finding.found,
                "advice": finding.advice,
            }
            for finding in findings
        ]
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "verdict": finding.verdict.value,
        "found": finding.found,
        "advice": finding.advice,
        **finding.facts,
    }
