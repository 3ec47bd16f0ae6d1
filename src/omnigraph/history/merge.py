"""The merge, decided: what becomes of an entity, and what of a property, given what both sides did to it.

Two tables of values, walked by a test in every combination. Whoever merges many entities asks once for each kind of
change and applies the answer to all of them (``write.merge.rows``), so there is one classification however large a
merge is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import POLICIES, PropertyOutcome


class Seen(Enum):
    """An entity on one side, as compared with the base."""

    SAME = "same"
    """As in the base; absent if it is absent there."""
    OTHER = "other"
    """There, and not as in the base."""
    GONE = "gone"
    """Deleted."""


class RowOutcome(Enum):
    """What becomes of an entity in the target."""

    KEEP = "keep"
    TAKE = "take"
    DELETE = "delete"
    BY_PROPERTY = "by_property"
    """Both sides changed it: every property is decided by itself."""
    DELETE_VS_UPDATE = "delete_vs_update"
    """The source deleted what the target changed."""
    UPDATE_VS_DELETE = "update_vs_delete"
    """The source changed what the target deleted."""


_ROWS: dict[tuple[Seen, Seen], RowOutcome] = {
    (Seen.SAME, Seen.SAME): RowOutcome.KEEP,
    (Seen.SAME, Seen.OTHER): RowOutcome.KEEP,
    (Seen.SAME, Seen.GONE): RowOutcome.KEEP,
    (Seen.OTHER, Seen.SAME): RowOutcome.TAKE,
    (Seen.OTHER, Seen.OTHER): RowOutcome.BY_PROPERTY,
    (Seen.OTHER, Seen.GONE): RowOutcome.UPDATE_VS_DELETE,
    (Seen.GONE, Seen.SAME): RowOutcome.DELETE,
    (Seen.GONE, Seen.OTHER): RowOutcome.DELETE_VS_UPDATE,
    (Seen.GONE, Seen.GONE): RowOutcome.KEEP,
}


def decide_row(source: Seen, target: Seen) -> RowOutcome:
    """The outcome for one entity. One that the base does not have is SAME where it is absent, OTHER where it is not."""
    return _ROWS[source, target]


def decide_property(
    policy: MergePolicy | None, *, source_differs: bool, target_differs: bool, sides_differ: bool
) -> PropertyOutcome:
    """The outcome for one property of an entity that both sides changed.

    ``source_differs`` and ``target_differs`` are as compared with the base; of an entity that the base does not have
    every property differs. What both sides changed to the same value is settled, whatever the policy.
    """
    if not source_differs:
        return PropertyOutcome.TARGET
    if not target_differs:
        return PropertyOutcome.SOURCE
    if not sides_differ:
        return PropertyOutcome.TARGET
    return PropertyOutcome.CONFLICT if policy is None else POLICIES[policy].outcome


@dataclass(frozen=True, slots=True)
class Policies:
    """What a caller says about properties without a policy of their own, and about single ones.

    ``properties`` (``Type.property``) counts before the schema's policy; ``types`` and ``default`` after it.
    """

    default: MergePolicy | None = None
    types: Mapping[str, MergePolicy] = field(default_factory=dict)
    properties: Mapping[tuple[str, str], MergePolicy] = field(default_factory=dict)

    def of(self, type_name: str, property_name: str, declared: MergePolicy | None) -> tuple[MergePolicy | None, bool]:
        """The policy of a property, and whether somebody meant exactly this property by it."""
        named = self.properties.get((type_name, property_name), declared)
        if named is not None:
            return named, True
        return self.types.get(type_name, self.default), False
