"""Syntax that both languages share: names, literals of the schema language, type references.

Spans are excluded from comparison, so two trees are equal exactly if their content is.
"""

from __future__ import annotations

from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang.source import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it was written."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A property or parameter type as written: ``[String]?``, ``Vector(4)``, ``Decimal(10, 2)``, ``enum(a, b)``.

    ``name`` is the scalar's name, ``Vector`` or ``enum``; exactly the parts that name needs are set.
    """

    name: str
    span: Span = field(compare=False)
    is_list: bool = False
    nullable: bool = False
    dimension: int | None = None
    enum_values: tuple[str, ...] | None = None
    digits: tuple[int, int] | None = None
    """The digits of a decimal, and those behind the point."""
