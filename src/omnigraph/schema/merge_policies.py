"""Merge policies, one row each: the types a policy fits, the origin of the merged value, and the need for a base.

To add a policy, add a member to ``MergePolicy`` and a row here. A policy that computes a value (``COMBINED``) also
needs its function in ``rows.merge``; a test walks every row over every scalar kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.types import PropertyType


class PropertyOutcome(Enum):
    """Origin of the merged value of a property."""

    TARGET = "target"
    SOURCE = "source"
    NEWEST = "newest"
    COMBINED = "combined"
    """Computed from both values by the function of the policy in ``rows.merge``."""
    CONFLICT = "conflict"


def _any_type(_: PropertyType) -> bool:
    return True


def _is_ordered(type_: PropertyType) -> bool:
    return type_.is_plain_scalar and type_.scalar.info.is_ordered


def _is_summable(type_: PropertyType) -> bool:
    return type_.is_number or (type_.scalar is Scalar.DURATION and not type_.is_list)


def _is_json(type_: PropertyType) -> bool:
    return type_.is_json


def _is_list(type_: PropertyType) -> bool:
    return type_.is_list


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """One policy. ``expected`` names the types it fits, as an error shows them."""

    outcome: PropertyOutcome
    fits: Callable[[PropertyType], bool] = _any_type
    expected: str = "any type"
    needs_base: bool = False
    """True if the merged value depends on the value before both changes."""


POLICIES: Final[Mapping[MergePolicy, PolicyInfo]] = {
    MergePolicy.SOURCE: PolicyInfo(PropertyOutcome.SOURCE),
    MergePolicy.TARGET: PolicyInfo(PropertyOutcome.TARGET),
    MergePolicy.NEWEST: PolicyInfo(PropertyOutcome.NEWEST),
    MergePolicy.MAX: PolicyInfo(PropertyOutcome.COMBINED, _is_ordered, "a number, String, date, time or duration"),
    MergePolicy.MIN: PolicyInfo(PropertyOutcome.COMBINED, _is_ordered, "a number, String, date, time or duration"),
    MergePolicy.SUM: PolicyInfo(PropertyOutcome.COMBINED, _is_summable, "a number or a Duration", needs_base=True),
    MergePolicy.UNION: PolicyInfo(PropertyOutcome.COMBINED, _is_list, "a list", needs_base=True),
    MergePolicy.KEYS: PolicyInfo(PropertyOutcome.COMBINED, _is_json, "Json", needs_base=True),
    MergePolicy.REVIEW: PolicyInfo(PropertyOutcome.CONFLICT),
}


def policy_misfit(policy: MergePolicy, type_: PropertyType) -> str | None:
    """The types that a policy requires if it does not fit this one; None if it fits."""
    row = POLICIES[policy]
    return None if row.fits(type_) else row.expected
