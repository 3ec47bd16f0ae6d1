"""The steps of migrations, each with how safe it is.

What a step does to stored data is the business of whoever applies it; deciding which steps there are is ``migrate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from omnigraph.schema.ir import (
    ConstraintIR,
    IndexConstraint,
    TypeKind,
)
from omnigraph.schema.types import PropertyType


class Safety(Enum):
    """What has to happen before a step may be taken."""

    SAFE = "safe"
    NEEDS_DATA_CHECK = "needs_data_check"
    REFUSED = "refused"


class Tier(Enum):
    """How a migration code is classed."""

    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


class MigrationCode(Enum):
    """The codes of migration steps: code, tier, meaning. Not every one is emitted; none ever changes its meaning."""

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


class DropMode(Enum):
    """Soft: older snapshots go on showing the data. Hard: nobody relies on them any more, and cleanup may take them."""

    SOFT = "soft"
    HARD = "hard"


class _SafeStep:
    """Steps that no data can prevent and that lose nothing."""

    __slots__ = ()

    @property
    def safety(self) -> Safety:
        return Safety.SAFE


def _drop_safety(mode: DropMode) -> Safety:
    # Only a hard drop cannot be taken back, so somebody looks first whether there is data to lose.
    return Safety.NEEDS_DATA_CHECK if mode is DropMode.HARD else Safety.SAFE


@dataclass(frozen=True, slots=True)
class AddType(_SafeStep):
    """A new, empty type."""

    type_kind: TypeKind
    name: str


@dataclass(frozen=True, slots=True)
class RenameType(_SafeStep):
    """A node or edge type gets another name; data, ids and history stay."""

    type_kind: TypeKind
    before: str
    after: str


def _check_of_entities(kind: TypeKind, *, is_needed: bool) -> Safety:
    # An interface has no entities; the nodes that implement it have steps of their own.
    return Safety.NEEDS_DATA_CHECK if is_needed and kind is not TypeKind.INTERFACE else Safety.SAFE


@dataclass(frozen=True, slots=True)
class AddProperty:
    """A new property; entities that exist have null, so if it is required there may be none."""

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
    """A property becomes nullable, or required: then no entity may have null."""

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
    """A property gets another name; values stay."""

    type_kind: TypeKind
    type_name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """A new constraint, which entities that exist must keep; an index is only a wish."""

    type_kind: TypeKind
    type_name: str
    constraint: ConstraintIR

    @property
    def safety(self) -> Safety:
        return _check_of_entities(self.type_kind, is_needed=not isinstance(self.constraint, IndexConstraint))


@dataclass(frozen=True, slots=True)
class DropConstraint(_SafeStep):
    """A constraint, or the wish for an index, that is given up."""

    type_kind: TypeKind
    type_name: str
    constraint: ConstraintIR


@dataclass(frozen=True, slots=True)
class ChangeCardinality:
    """Other bounds for the number of edges of one source: ``(low, high)``, where None is no bound."""

    type_name: str
    before: tuple[int, int | None]
    after: tuple[int, int | None]

    @property
    def safety(self) -> Safety:
        (low, high), (new_low, new_high) = self.before, self.after
        is_wider = new_low <= low and (new_high is None or (high is not None and new_high >= high))
        return Safety.SAFE if is_wider else Safety.NEEDS_DATA_CHECK


@dataclass(frozen=True, slots=True)
class ExtendEnum(_SafeStep):
    """An enum allows more values than before."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeEnum:
    """Other allowed values, some of which go, or any text (None) on one side."""

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
    """Description or instruction of a type differ; ``annotations`` are those that hold from here on."""

    type_kind: TypeKind
    name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UpdatePropertyMetadata(_SafeStep):
    """Description or merge policy of a property differ; ``annotations`` are those that hold from here on."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DropType:
    """A node or edge type disappears."""

    type_kind: TypeKind
    name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class DropProperty:
    """A property disappears."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class UnsupportedChange:
    """A difference that no migration can bridge; the plan is refused."""

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
    | ExtendEnum
    | ChangeEnum
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropType
    | DropProperty
    | UnsupportedChange
)
