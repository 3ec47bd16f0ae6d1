"""Changes of entities as values, and the filter that selects them.

A change holds the images of an entity before and after. The comparison that produces changes decides the content of the
images and the order of changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from omnigraph.core.display import ITEMS_MAX, Display, Displayed, shown_value
from omnigraph.errors import UsageError

KINDS = ("node", "edge")


class Op(StrEnum):
    """Operation on an entity."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


Node = str | Mapping[str, str] | None
"""The id of an endpoint, or ``type`` and ``id`` where an edge type has endpoints of several types."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of inserted, updated and deleted entities."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)

    def __str__(self) -> str:
        signs = (("+", self.inserted), ("~", self.updated), ("-", self.deleted))
        return " ".join(f"{sign}{number:,}" for sign, number in signs if number) or "nothing"


@dataclass(frozen=True, slots=True)
class Image:
    """An entity in one state: its properties, and for an edge its endpoints."""

    properties: Mapping[str, Any]
    source: Node = None
    target: Node = None

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"properties": dict(self.properties)}
        if self.source is not None:
            shown["endpoints"] = {"from": self.source, "to": self.target}
        return shown


@dataclass(frozen=True, slots=True, repr=False)
class Change(Displayed):
    """One difference of one entity. ``changed`` names what an update changed: properties, ``src`` and ``dst``.

    ``type_id`` is stable: it survives a rename, and a type that is dropped and declared again gets another one.
    """

    kind: str
    type_id: str
    type_name: str
    id: str
    op: Op
    before: Image | None
    after: Image | None
    changed: tuple[str, ...] = ()

    def _display(self) -> Display:
        return Display(change_text(self))


def change_text(change: Change) -> str:
    """One line: ``~ node Person ann  age: 3 -> 4``."""
    name = f"{change.kind} {change.type_name} {change.id}"
    match change.op:
        case Op.INSERT:
            assert change.after is not None
            return f"+ {name}{_ends(change.after)}{_values(change.after)}"
        case Op.DELETE:
            assert change.before is not None
            return f"- {name}{_ends(change.before)}"
        case Op.UPDATE:
            assert change.before is not None and change.after is not None
            old, new = _flat(change.before), _flat(change.after)
            steps = [f"{item}: {_value(old[item])} -> {_value(new[item])}" for item in change.changed]
            return f"~ {name}  {', '.join(steps)}"


def _flat(image: Image) -> dict[str, Any]:
    return {"src": image.source, "dst": image.target, **image.properties}


def _ends(image: Image) -> str:
    return "" if image.source is None else f" ({_node(image.source)} -> {_node(image.target)})"


def _node(node: Node) -> str:
    return f"{node['type']}:{node['id']}" if isinstance(node, Mapping) else str(node)


def _values(image: Image) -> str:
    present = [f"{name}: {_value(value)}" for name, value in image.properties.items() if value is not None]
    return f"  {', '.join(present)}" if present else ""


VALUE_CHARS_MAX = 60
"""A value in a line for people is cut after this; a vector would fill pages."""


def _value(value: object) -> str:
    if isinstance(value, list) and len(value) > ITEMS_MAX:
        return shown_value(value, VALUE_CHARS_MAX)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 1] + "…"


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Selection of changes: any value within a dimension, and all dimensions together. None selects everything."""

    kinds: frozenset[str] | None = None
    types: frozenset[str] | None = None
    ops: frozenset[Op] | None = None

    def wants_type(self, kind: str, name: str) -> bool:
        is_named = self.types is None or name in self.types or f"{kind}:{name}" in self.types
        return is_named and (self.kinds is None or kind in self.kinds)

    def wants(self, op: Op) -> bool:
        return self.ops is None or op in self.ops

    @property
    def digest(self) -> str:
        """Digest that is equal for equivalent filters. Naming every kind or operation is the same as naming none."""
        dimensions = [
            _listed(self.kinds, len(KINDS)),
            _listed(self.types),
            _listed(None if self.ops is None else {op.value for op in self.ops}, len(Op)),
        ]
        return hashlib.sha256(json.dumps(dimensions).encode()).hexdigest()[:16]


def _listed(chosen: Iterable[str] | None, members: int | None = None) -> list[str] | None:
    listed = None if chosen is None else sorted(chosen)
    return None if listed is None or len(listed) == members else listed


Names = str | Iterable[str] | None
"""One name or several, as callers pass them; None selects all."""


def read_filter(kind: Names = None, type: Names = None, op: Names = None) -> ChangeFilter:
    """Read a filter from arguments such as ``kind="node", op=["insert", "update"]``; raises UsageError."""
    kinds, ops = _names(kind), _names(op)
    _check("kind of entity", kinds, KINDS)
    _check("operation of a change", ops, [member.value for member in Op])
    return ChangeFilter(kinds, _names(type), None if ops is None else frozenset(map(Op, ops)))


def _names(given: Names) -> frozenset[str] | None:
    if given is None:
        return None
    named = frozenset([given] if isinstance(given, str) else given)
    return named or None


def _check(what: str, given: Iterable[str] | None, known: Iterable[str]) -> None:
    unknown = sorted(set(given or ()) - set(known))
    if unknown:
        raise UsageError(f"unknown {what}: {unknown[0]!r}", hint=f"expected one of {', '.join(known)}")
