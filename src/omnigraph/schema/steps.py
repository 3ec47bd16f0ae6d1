"""The steps of a migration, each with its safety.

``migrate`` decides which steps a change consists of; ``write.schema`` applies them to stored data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from omnigraph.schema.ir import (
    ConstraintIR,
    IndexConstraint,
    Pair,
    TypeKind,
)
from omnigraph.schema.types import PropertyType


class Safety(StrEnum):
    """Precondition of a step."""

    SAFE = "safe"
    NEEDS_DATA_CHECK = "needs_data_check"
    REFUSED = "refused"


class Tier(StrEnum):
    """Class of a migration code."""

    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


class MigrationCode(Enum):
    """The codes of migration steps: code, tier, meaning. Some are reserved; none ever changes its meaning."""

    DROP_GRAPH_TYPE = ("OG-DS-101", Tier.DESTRUCTIVE, "drop a populated graph type")
    DROP_NODE_TYPE = ("OG-DS-102", Tier.DESTRUCTIVE, "drop a populated node type")
    DROP_EDGE_TYPE = ("OG-DS-103", Tier.DESTRUCTIVE, "drop a populated edge type")
    DROP_PROPERTY = ("OG-DS-104", Tier.DESTRUCTIVE, "drop a property of a populated type")
    DROP_VECTOR = ("OG-DS-105", Tier.DESTRUCTIVE, "drop a populated vector property")
    ADD_REQUIRED = ("OG-MF-103", Tier.VALIDATED, "add a required property")
    TIGHTEN = ("OG-MF-104", Tier.VALIDATED, "make a nullable property required")
    CHANGE_TYPE = ("OG-MF-106", Tier.DESTRUCTIVE, "change the type of a property")

    def __init__(self, code: str, tier: Tier, meaning: str) -> None:
        self.code = code
        self.tier = tier
        self.meaning = meaning


class DropMode(StrEnum):
    """Soft: older snapshots keep the data readable. Hard: cleanup may delete those snapshots."""

    SOFT = "soft"
    HARD = "hard"


class _SafeStep:
    """Base of steps that need no data check and lose no data."""

    __slots__ = ()

    @property
    def safety(self) -> Safety:
        return Safety.SAFE


def _drop_safety(mode: DropMode) -> Safety:
    # Only a hard drop is irreversible, so it is checked for data first.
    return Safety.NEEDS_DATA_CHECK if mode is DropMode.HARD else Safety.SAFE


@dataclass(frozen=True, slots=True)
class AddType(_SafeStep):
    """A new, empty type."""

    type_kind: TypeKind
    name: str


@dataclass(frozen=True, slots=True)
class RenameType(_SafeStep):
    """A new name for a node or edge type; data, ids and history are kept."""

    type_kind: TypeKind
    before: str
    after: str


def _check_of_entities(kind: TypeKind, *, is_needed: bool) -> Safety:
    # An interface has no entities; the nodes that implement it have their own steps.
    return Safety.NEEDS_DATA_CHECK if is_needed and kind is not TypeKind.INTERFACE else Safety.SAFE


@dataclass(frozen=True, slots=True)
class AddProperty:
    """A new property. Existing entities have null, so a required property needs an empty type."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: PropertyType
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _check_of_entities(self.type_kind, is_needed=not self.property_type.nullable)


@dataclass(frozen=True, slots=True)
class ChangeNullability:
    """A property becomes nullable, or required; the latter needs a type without nulls."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    nullable: bool
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _check_of_entities(self.type_kind, is_needed=not self.nullable)


@dataclass(frozen=True, slots=True)
class RenameProperty(_SafeStep):
    """A new name for a property; values are kept."""

    type_kind: TypeKind
    type_name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """A new constraint, which existing entities must satisfy; an index has nothing to satisfy."""

    type_kind: TypeKind
    type_name: str
    constraint: ConstraintIR

    @property
    def safety(self) -> Safety:
        return _check_of_entities(self.type_kind, is_needed=not isinstance(self.constraint, IndexConstraint))


@dataclass(frozen=True, slots=True)
class DropConstraint(_SafeStep):
    """Removal of a constraint or an index request."""

    type_kind: TypeKind
    type_name: str
    constraint: ConstraintIR


@dataclass(frozen=True, slots=True)
class ChangeCardinality:
    """New bounds for the number of edges per source node: ``(low, high)``, None for unbounded."""

    type_name: str
    before: tuple[int, int | None]
    after: tuple[int, int | None]

    @property
    def safety(self) -> Safety:
        (low, high), (new_low, new_high) = self.before, self.after
        is_wider = new_low <= low and (new_high is None or (high is not None and new_high >= high))
        return Safety.SAFE if is_wider else Safety.NEEDS_DATA_CHECK


@dataclass(frozen=True, slots=True)
class ChangeEnds:
    """Other ends of an edge type, as declared, and the pairs of node types that it connects now and no longer.

    The edges of dropped pairs are deleted; earlier commits keep them.
    """

    type_name: str
    ends: tuple[Pair, ...]
    added: tuple[Pair, ...]
    dropped: tuple[Pair, ...]
    mode: DropMode

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode) if self.dropped else Safety.SAFE


@dataclass(frozen=True, slots=True)
class ChangeInterfaces(_SafeStep):
    """A node type that declares the properties of more interfaces, or no longer those of some."""

    type_name: str
    added: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtendEnum(_SafeStep):
    """Additional enum values."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeEnum:
    """A change of enum values that removes some, or a change to or from unrestricted text (None)."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None

    @property
    def safety(self) -> Safety:
        return _check_of_entities(self.type_kind, is_needed=self.after is not None)


@dataclass(frozen=True, slots=True)
class UpdateTypeMetadata(_SafeStep):
    """A new description or instruction of a type; ``annotations`` are the values after the change."""

    type_kind: TypeKind
    name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UpdatePropertyMetadata(_SafeStep):
    """A new description or merge policy of a property; ``annotations`` are the values after the change."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DropType:
    """Removal of a node or edge type."""

    type_kind: TypeKind
    name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class DropProperty:
    """Removal of a property."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """Another table for an external type, or another column or type of a property; rows are read and checked again.

    ``property_name`` is None for the table. ``before`` and ``after`` are texts for messages.
    """

    type_kind: TypeKind
    type_name: str
    property_name: str | None
    before: str
    after: str

    @property
    def safety(self) -> Safety:
        return Safety.NEEDS_DATA_CHECK


@dataclass(frozen=True, slots=True)
class UnsupportedChange:
    """A change that migrations do not support; the plan is refused."""

    entity: str
    reason: str
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return Safety.REFUSED

    @property
    def text(self) -> str:
        """The error text of a refused plan."""
        return self.reason if self.code is None else f"[{self.code.code}] {self.reason}"


Step = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | ChangeNullability
    | AddConstraint
    | DropConstraint
    | ChangeCardinality
    | ChangeEnds
    | ChangeInterfaces
    | ExtendEnum
    | ChangeEnum
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropType
    | DropProperty
    | ChangeSource
    | UnsupportedChange
)


def drops_data(step: Step) -> bool:
    """True if a step removes entities or values; after a soft drop earlier commits keep them."""
    return isinstance(step, DropType | DropProperty) or (isinstance(step, ChangeEnds) and bool(step.dropped))
