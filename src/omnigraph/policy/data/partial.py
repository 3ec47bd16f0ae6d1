"""Partial evaluation: the rules for an actor, an action and a branch, with the entity unknown.

The policy library marks this as experimental, so it is called here only, and a property test compares the result with
full evaluation, row by row. Every policy must come back, as true, false or a residual; anything else is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from omnigraph.core.actors import Actor, Attribute
from omnigraph.policy.cedar_text import NAMESPACE, entity
from omnigraph.policy.library import cedar

Node = Mapping[str, Any]
"""An expression of the policy language, in its JSON form."""


class NotEvaluated(Exception):
    """The rules could not be evaluated for a request."""


@dataclass(frozen=True, slots=True)
class Residual:
    """The rest of one policy: its conditions, which must all hold."""

    policy_id: str
    permits: bool
    conditions: tuple[Node, ...]


@dataclass(frozen=True)
class DataPolicies:
    """Parsed policies with the schema they were validated against."""

    policies: Any
    schema: Any
    ids: Set[str]

    def residuals(
        self,
        actor: Actor,
        groups: Set[str],
        attributes: Mapping[str, Attribute],
        action: str,
        context: Mapping[str, str],
    ) -> tuple[Residual, ...]:
        """The residual of every policy."""
        request = {
            "principal": entity("Actor", actor.id),
            "action": entity("Action", action),
            "context": dict(context),
        }
        try:
            answer = cedar().is_authorized_partial(
                request, self.policies, entities_json(actor, groups, attributes), self.schema
            )
        except ValueError as error:
            raise NotEvaluated(str(error)) from error
        if answer.diagnostics.errors:
            raise NotEvaluated("; ".join(map(str, answer.diagnostics.errors)))
        if answer.residuals.keys() != self.ids:
            # A policy that is left out would be one that is ignored, and a forbid must not be.
            raise NotEvaluated(f"no answer for {', '.join(sorted(self.ids ^ answer.residuals.keys()))}")
        return tuple(_residual(id_, residual) for id_, residual in sorted(answer.residuals.items()))


def entities_json(actor: Actor, groups: Set[str], attributes: Mapping[str, Attribute]) -> str:
    """The actor with its groups and attributes, as entities."""
    parents = [{"type": f"{NAMESPACE}::Group", "id": name} for name in sorted(groups)]
    facts = {
        name: sorted(value, key=str) if isinstance(value, frozenset) else value for name, value in attributes.items()
    }
    known = {"uid": {"type": f"{NAMESPACE}::Actor", "id": actor.id}, "attrs": {**facts, "id": actor.id}}
    groups_known = [{"uid": parent, "attrs": {}, "parents": []} for parent in parents]
    return json.dumps([{**known, "parents": parents}, *groups_known])


def _residual(policy_id: str, residual: Node) -> Residual:
    for part in ("principal", "action", "resource"):
        if residual[part] != {"op": "All"}:
            raise NotEvaluated(f"{policy_id} still depends on its {part}")
    return Residual(policy_id, residual["effect"] == "permit", tuple(map(condition, residual["conditions"])))


def condition(clause: Node) -> Node:
    """A clause as an expression that must hold."""
    body: Node = clause["body"]
    return body if clause["kind"] == "when" else {"!": {"arg": body}}
