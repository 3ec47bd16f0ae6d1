"""Effective merge policy of a property: from the call for this property, the schema, or the defaults of the call."""

from __future__ import annotations

from omnigraph.core.scalars import Scalar
from omnigraph.history.merge import Policies
from omnigraph.rows.arrow_types import DST, SRC, Entity
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import policy_misfit
from omnigraph.schema.types import PropertyType


def type_of(entity: Entity, name: str) -> PropertyType | None:
    """The type of a property or of an endpoint of an edge; None for any other column.

    The tag of an endpoint has none: it goes with the id.
    """
    if name in entity.properties:
        return entity.properties[name].type
    is_end = isinstance(entity, EdgeType) and name in (SRC, DST)
    return PropertyType(Scalar.STRING) if is_end else None


def policy_of(entity: Entity, policies: Policies, name: str) -> MergePolicy | None:
    """The policy of a property or endpoint. A default policy applies only to types that it fits."""
    type_ = type_of(entity, name)
    if type_ is None:
        return None
    declared = entity.properties[name].merge if name in entity.properties else None
    policy, is_specific = policies.of(entity.name, name, declared)
    if policy is None or is_specific or policy_misfit(policy, type_) is None:
        return policy
    return None
