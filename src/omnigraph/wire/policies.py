"""Policies as JSON: a checked bundle, a decision, and the results of policy tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cases import CaseResult
from omnigraph.policy.decide import Decision


def bundle_json(path: str, bundle: Bundle) -> dict[str, Any]:
    """A bundle that validates."""
    return {
        "path": path,
        "valid": True,
        "kind": bundle.resource.value,
        "digest": bundle.digest,
        "groups": len(bundle.groups),
        "actors": len(frozenset[str]().union(*bundle.groups.values())),
        "rules": len(bundle.rules),
        "data_rules": bundle.data_rules is not None,
    }


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision with its reason."""
    return {
        "decision": "allow" if decision.allowed else "deny",
        "actor": decision.actor.id,
        "action": decision.need.action.value,
        "branch": decision.need.branch,
        "target_branch": decision.need.target_branch,
        "matched_rule": decision.rule,
        "message": decision.message,
    }


def cases_json(results: Iterable[CaseResult]) -> dict[str, Any]:
    """The results of policy tests."""
    listed = list(results)
    return {
        "passed": sum(result.passed for result in listed),
        "failed": sum(not result.passed for result in listed),
        "cases": [
            {"id": result.case.id, "passed": result.passed, **decision_json(result.decision)} for result in listed
        ],
    }
