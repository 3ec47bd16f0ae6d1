"""Policies as JSON: a checked bundle, a decision, and the results of policy tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnigraph.query.explain import render
from omnigraph.query.expressions import TRUE
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.query.visibility.restrict import owned
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, all_types

if TYPE_CHECKING:
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


def scope_json(scope: DataScope | None, catalog: Catalog) -> dict[str, Any]:
    """The part of a graph that data rules leave to an actor, type by type."""
    if scope is None:
        return {"data": "all"}
    return {"data": "part", "types": {entity.table_key: _type_json(entity, scope) for entity in all_types(catalog)}}


def _type_json(entity: NodeType | EdgeType, scope: DataScope) -> dict[str, Any]:
    known = scope.types.get(entity.table_key)
    if known is None:
        return {"visible": False}
    hidden = sorted(entity.properties.keys() - known.properties)
    where = None if known.predicate == TRUE else render(owned(known.predicate, "entity"))
    return {"visible": True, "where": where, "hidden_properties": hidden}


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
