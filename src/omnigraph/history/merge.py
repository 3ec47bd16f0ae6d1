"""Decision tables of the three-way merge, for whole entities and for single properties.

A test walks both tables in every combination. A merge of many entities looks up each kind of change once and applies
the outcome to all entities of that kind (``write.merge.rows``), in process and on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import POLICIES, PropertyOutcome


class Seen(Enum):
    """State of an entity on one side, compared with the base."""

    SAME = "same"
    """Unchanged; absent if the base does not have the entity."""
    OTHER = "other"
    """Inserted or updated."""
    GONE = "gone"
    """Deleted."""


class RowOutcome(Enum):
    """Effect of the merge on an entity of the target."""

    KEEP = "keep"
    TAKE = "take"
    DELETE = "delete"
    BY_PROPERTY = "by_property"
    """Both sides changed it: each property is decided separately."""
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
    """The outcome for one entity. An entity that the base lacks is SAME where absent, OTHER where present."""
    return _ROWS[source, target]


def decide_property(
    policy: MergePolicy | None, *, source_differs: bool, target_differs: bool, sides_differ: bool
) -> PropertyOutcome:
    """The outcome for one property of an entity that both sides changed.

    ``source_differs`` and ``target_differs`` compare with the base; every property of an entity that the base lacks
    differs. A property that both sides changed to the same value is no conflict under any policy.
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
    """Policies of a merge call, in order of precedence.

    1. ``properties`` (``Type.property``)
    2. the policy that the schema declares
    3. ``types``
    4. ``default``
    """

    default: MergePolicy | None = None
    types: Mapping[str, MergePolicy] = field(default_factory=dict)
    properties: Mapping[tuple[str, str], MergePolicy] = field(default_factory=dict)

    def of(self, type_name: str, property_name: str, declared: MergePolicy | None) -> tuple[MergePolicy | None, bool]:
        """The policy of a property, and True if it was declared for exactly this property."""
        named = self.properties.get((type_name, property_name), declared)
        if named is not None:
            return named, True
        return self.types.get(type_name, self.default), False
