"""Which policy counts for a property: what the caller says of it, else the schema, else what the caller says of all."""

from __future__ import annotations

from omnigraph.history.merge import Policies
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.annotations import policy_misfit
from omnigraph.schema.ir import MergePolicy


def policy_of(entity: Entity, policies: Policies, name: str) -> MergePolicy | None:
    """The policy of a property. A general one counts only where it can be applied."""
    declared = entity.properties.get(name)
    if declared is None:
        return None
    policy, is_meant = policies.of(entity.name, name, declared.merge)
    if policy is None or is_meant or policy_misfit(policy, declared.type) is None:
        return policy
    return None
