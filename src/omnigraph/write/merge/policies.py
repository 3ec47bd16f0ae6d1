"""Which policy counts for a property: what the caller says of it, else the schema, else what the caller says of all."""

from __future__ import annotations

from omnigraph.core.scalars import Scalar
from omnigraph.history.merge import Policies
from omnigraph.rows.arrow_types import DST, SRC, Entity
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import policy_misfit
from omnigraph.schema.types import PropertyType


def type_of(entity: Entity, name: str) -> PropertyType | None:
    """The type of what may have a policy: a property, or an end of an edge."""
    if name in entity.properties:
        return entity.properties[name].type
    is_end = isinstance(entity, EdgeType) and name in (SRC, DST)
    return PropertyType(Scalar.STRING) if is_end else None


def policy_of(entity: Entity, policies: Policies, name: str) -> MergePolicy | None:
    """The policy of a property, or of an end. A general one counts only where it can be applied."""
    type_ = type_of(entity, name)
    if type_ is None:
        return None
    declared = entity.properties[name].merge if name in entity.properties else None
    policy, is_meant = policies.of(entity.name, name, declared)
    if policy is None or is_meant or policy_misfit(policy, type_) is None:
        return policy
    return None
