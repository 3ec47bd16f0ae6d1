"""The declared schema: a checked text with interfaces expanded, before ids are assigned.

``identify`` turns it into the accepted schema. Source spans and rename hints end here: they belong to a text, not to a
graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.lang.pg_ast import ConstraintKind
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name
from omnigraph.schema.ir import ConstraintIR, CustomAnnotation, Embed, External, MergePolicy, Pair, TypeKind
from omnigraph.schema.types import PropertyType


@dataclass(frozen=True, slots=True)
class DeclaredProperty:
    """One property; ``sugar`` holds the constraints written as bare annotations on it."""

    name: Name
    type: PropertyType
    description: str | None = None
    embed: Embed | None = None
    merge: MergePolicy | None = None
    sugar: frozenset[ConstraintKind] = frozenset()
    annotations: tuple[CustomAnnotation, ...] = ()
    rename_from: Name | None = None
    injected_from: str | None = None
    column: Name | None = None

    @property
    def semantics(self) -> tuple[object, ...]:
        """The fields on which two interfaces that declare this property must agree."""
        return (self.type, self.description, self.embed, self.merge, self.sugar, self.annotations)


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """Fields shared by interfaces, nodes and edges. Properties are sorted by name."""

    kind: ClassVar[TypeKind]

    name: Name
    properties: tuple[DeclaredProperty, ...]
    constraints: tuple[ConstraintIR, ...]
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[CustomAnnotation, ...] = ()
    rename_from: Name | None = None
    external: External | None = None


@dataclass(frozen=True, slots=True)
class DeclaredInterface(DeclaredType):
    """An interface."""

    kind = TypeKind.INTERFACE


@dataclass(frozen=True, slots=True)
class DeclaredNode(DeclaredType):
    """A node type; ``implements`` is sorted."""

    kind = TypeKind.NODE

    implements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredEdge(DeclaredType):
    """An edge type."""

    kind = TypeKind.EDGE

    ends: tuple[Pair, ...] = ()
    pairs: tuple[Pair, ...] = ()
    """The pairs of node types that the ends stand for."""
    card_min: int = 0
    card_max: int | None = None


@dataclass(frozen=True, slots=True)
class DeclaredSchema:
    """All types of one text, each kind sorted by name."""

    source: Source
    interfaces: tuple[DeclaredInterface, ...]
    nodes: tuple[DeclaredNode, ...]
    edges: tuple[DeclaredEdge, ...]

    @property
    def types(self) -> tuple[DeclaredType, ...]:
        """All types in the order in which ids are assigned."""
        return (*self.interfaces, *self.nodes, *self.edges)
