"""The syntax tree of a ``.pg`` schema."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name, TypeRef


@dataclass(frozen=True, slots=True)
class PgLiteral:
    """A string, number or truth value in an annotation or constraint."""

    value: str | int | float | bool
    span: Span = field(compare=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python but different in a schema.
        return isinstance(other, PgLiteral) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class RangeBounds:
    """``lo..hi``, ``lo..`` or ``..hi`` of a ``@range``; both ends are inclusive."""

    low: int | float | None
    high: int | float | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Annotation:
    """``@name``, ``@name(value)`` or ``@name(value, key=literal)``."""

    name: Name
    value: PgLiteral | Name | None
    arguments: tuple[tuple[Name, PgLiteral], ...]
    span: Span = field(compare=False)


class ConstraintKind(Enum):
    """The body constraints."""

    KEY = "key"
    UNIQUE = "unique"
    INDEX = "index"
    RANGE = "range"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A body constraint such as ``@unique(a, b)``."""

    kind: ConstraintKind
    arguments: tuple[RangeBounds | PgLiteral | Name, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class PropertyDecl:
    """``name: Type @annotation ...``."""

    name: Name
    type: TypeRef
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Cardinality:
    """``@card(min..max)``: edges per source node."""

    low: int
    high: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class InterfaceDecl:
    """``interface Name { ... }``."""

    name: Name
    properties: tuple[PropertyDecl, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class NodeDecl:
    """``node Name @annotations implements A, B { ... }``; the body keeps its written order."""

    name: Name
    annotations: tuple[Annotation, ...]
    implements: tuple[Name, ...]
    body: tuple[PropertyDecl | Constraint, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class EndsDecl:
    """``A | B -> C | D``: edges from each of the sources to each of the targets."""

    sources: tuple[Name, ...]
    targets: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class EdgeDecl:
    """``edge Name: From -> To, From -> To @card(..) @annotations @constraints(..) { ... }``."""

    name: Name
    ends: tuple[EndsDecl, ...]
    cardinality: Cardinality | None
    annotations: tuple[Annotation, ...]
    constraints: tuple[Constraint, ...]
    """Constraints before the body; an edge type may have no body."""
    body: tuple[PropertyDecl | Constraint, ...]
    span: Span = field(compare=False)


Declaration = InterfaceDecl | NodeDecl | EdgeDecl


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A whole ``.pg`` text."""

    declarations: tuple[Declaration, ...]
