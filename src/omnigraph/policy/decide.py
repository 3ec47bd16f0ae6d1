"""Decisions: an actor, an action and its branches against the policies of one bundle.

Policies and schema are parsed once; decisions are cached until the bundle is replaced, together with this object.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.core.lru import Lru
from omnigraph.errors import PolicyFailure, PolicyInvalid
from omnigraph.policy.actions import ACTIONS, Resource
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar_text import NAMESPACE
from omnigraph.policy.data.rules import DataRules
from omnigraph.policy.library import cedar
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.policy.rules import SERVER_ID, policy_text, schema_text
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog

logger = logging.getLogger("omnigraph.policy")

DECISIONS_MAX: Final = 8_192
"""Cached decisions of one bundle; each holds an actor and a few names."""

GRAPH_ID: Final = "graph"
"""The graph of a bundle that is loaded without a cluster, which would give it an id."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request. ``rule`` is the id of the rule that decided, if there is one."""

    actor: Actor
    need: Need
    allowed: bool
    rule: str | None = None
    is_known: bool = True
    """False for an actor in no group of the bundle."""

    @property
    def message(self) -> str:
        word = "allowed" if self.allowed else "denied"
        kind = "actor" if self.is_known else "unknown actor"
        return f"policy {word} {self.need} for {kind} {self.actor.id!r}"

    def raise_denied(self) -> None:
        """Raise PolicyDenied unless the request is allowed."""
        if not self.allowed:
            kind = "actor" if self.is_known else "unknown actor"
            raise self.need.denied(f" for {kind} {self.actor.id!r}", self.actor)


class Policy:
    """The authorizer of one graph, or of the server, by one bundle."""

    def __init__(self, bundle: Bundle, resource_id: str | None = None) -> None:
        library = cedar()
        self.bundle = bundle
        self._resource_id = resource_id or (GRAPH_ID if bundle.resource is Resource.GRAPH else SERVER_ID)
        text, schema = policy_text(bundle, self._resource_id), schema_text()
        _check(library, text, schema, "the policies of the bundle")
        self._policies = library.PolicySet.from_str(text)
        self._schema = library.Schema.from_str(schema)
        self._decisions: Lru[tuple[Actor, Need], Decision] = Lru(DECISIONS_MAX)
        self.data_rules = None if bundle.data_rules is None else DataRules(bundle, bundle.data_rules)

    def __reduce__(self) -> Any:
        return Policy, (self.bundle, self._resource_id)

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        """Raise PolicyDenied unless a rule allows it and none forbids it."""
        self.decide(actor, Need(action, branch, target_branch, query)).raise_denied()

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        """The entities that the actor may see or change; None if all of them, as without data rules."""
        return None if self.data_rules is None else self.data_rules.scope(actor, action, branch, catalog)

    @property
    def has_data_rules(self) -> bool:
        return self.data_rules is not None

    def check_catalog(self, catalog: Catalog) -> None:
        """Raise PolicyInvalid if a data rule does not fit the schema of a graph."""
        if self.data_rules is not None:
            self.data_rules.check(catalog)

    def decide(self, actor: Actor, need: Need) -> Decision:
        """The decision about a request, which is logged."""
        known = self._decisions.get((actor, need))
        if known is None:
            known = self._decided(actor, need)
            self._decisions.put((actor, need), known)
        _log(known)
        return known

    def _decided(self, actor: Actor, need: Need) -> Decision:
        groups = self.bundle.groups_of(actor)
        if not groups or ACTIONS[need.action].resource is not self.bundle.resource:
            return Decision(actor, need, False, is_known=bool(groups))
        request, entities = self._request(actor, need), _entities(actor, groups)
        try:
            answer = cedar().is_authorized(request, self._policies, entities, self._schema)
        except ValueError as error:
            raise PolicyFailure(f"policy: {need} could not be decided: {error}") from error
        if answer.diagnostics.errors:
            raise PolicyFailure(f"policy: {need} could not be decided: {'; '.join(answer.diagnostics.errors)}")
        reasons = answer.diagnostics.id_annotations_by_reason.values()
        rule = min(reasons, default=None)
        return Decision(actor, need, answer.allowed, None if rule is None else rule.rpartition(":")[0])

    def _request(self, actor: Actor, need: Need) -> dict[str, Any]:
        protected = self.bundle.protected_branches
        return {
            "principal": _uid("Actor", actor.id),
            "action": _uid("Action", need.action.value),
            "resource": _uid(self.bundle.resource.entity_type, self._resource_id),
            "context": {
                "has_branch": need.branch is not None,
                "branch": need.branch or "",
                "branch_is_protected": need.branch in protected,
                "has_target_branch": need.target_branch is not None,
                "target_branch": need.target_branch or "",
                "target_branch_is_protected": need.target_branch in protected,
                "has_query": need.query is not None,
                "query": need.query or "",
            },
        }


def load_policy(path: str | os.PathLike[str], resource: Resource | None = None) -> Policy:
    """The policy of a bundle file; raises PolicyInvalid for one that does not validate."""
    return Policy(read_bundle(path, resource))


def _uid(type_: str, id_: str) -> dict[str, str]:
    return {"type": f"{NAMESPACE}::{type_}", "id": id_}


def _entities(actor: Actor, groups: frozenset[str]) -> str:
    parents = [_uid("Group", name) for name in sorted(groups)]
    known = [{"uid": _uid("Actor", actor.id), "attrs": {}, "parents": parents}]
    return json.dumps([*known, *({"uid": parent, "attrs": {}, "parents": []} for parent in parents)])


def _check(library: Any, text: str, schema: str, what: str) -> None:
    """Strict validation: a policy that could fail when it is evaluated is refused before it is used."""
    result = library.validate_policies(text, schema)
    if not result.validation_passed:
        raise PolicyInvalid(f"{what} do not validate: {'; '.join(map(str, result.errors))}")


def _log(decision: Decision) -> None:
    if not logger.isEnabledFor(logging.INFO):
        return
    need = decision.need
    logger.info(
        "%s",
        decision.message,
        extra={
            "facts": {
                "actor": decision.actor.id,
                "action": need.action.value,
                "branch": need.branch,
                "target_branch": need.target_branch,
                "allowed": decision.allowed,
                "rule": decision.rule,
            }
        },
    )
