"""Data scopes: the part of a graph that the data rules of a policy leave to one actor.

A scope is a value: the policy makes it, the compiler and the executors apply it. Types and properties outside of it do
not exist for the actor; of the other types, only the entities that satisfy the predicate do.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.query.expressions import TRUE, Expr


@dataclass(frozen=True, slots=True)
class TypeScope:
    """The properties of a type inside the scope, and the predicate that its entities satisfy.

    The predicate reads properties of the variable ``OWNER``. It is never null: true or false for every entity.
    """

    properties: frozenset[str]
    predicate: Expr = TRUE


@dataclass(frozen=True, slots=True)
class DataScope:
    """The types inside the scope, by table key. An edge is inside if both of its ends are, too."""

    types: Mapping[str, TypeScope]
    digest: str
    """Identifies the scope: equal digests mean equal scopes."""
