"""Changes as values: what happened to one entity, and which changes somebody asked for.

A change tells an entity as it was and as it is; what the two images hold, and in which order changes come, is up to
whoever compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from omnigraph.errors import UsageError

KINDS = ("node", "edge")


class Op(Enum):
    """What happened to an entity."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Image:
    """An entity at one moment: its properties, and the ids of an edge's ends."""

    properties: Mapping[str, Any]
    source: str | None = None
    target: str | None = None

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"properties": dict(self.properties)}
        if self.source is not None:
            shown["endpoints"] = {"from": self.source, "to": self.target}
        return shown


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of one entity. ``changed`` names what an update changed: properties, ``src`` and ``dst``.

    ``type_id`` names the type for good: it survives a rename, and a type that is dropped and made again has another.
    """

    kind: str
    type_id: str
    type_name: str
    id: str
    op: Op
    before: Image | None
    after: Image | None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes are wanted. Within a dimension one must fit, and all dimensions must; None is everything."""

    kinds: frozenset[str] | None = None
    types: frozenset[str] | None = None
    ops: frozenset[Op] | None = None

    def wants_type(self, kind: str, name: str) -> bool:
        return (self.kinds is None or kind in self.kinds) and (self.types is None or name in self.types)

    def wants(self, op: Op) -> bool:
        return self.ops is None or op in self.ops

    @property
    def digest(self) -> str:
        """Equal for filters that want the same."""
        said = [
            _listed(self.kinds, len(KINDS)),
            _listed(self.types),
            _listed(None if self.ops is None else {op.value for op in self.ops}, len(Op)),
        ]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _listed(chosen: Iterable[str] | None, all_of_them: int | None = None) -> list[str] | None:
    listed = None if chosen is None else sorted(chosen)
    return None if listed is None or len(listed) == all_of_them else listed


Names = str | Iterable[str] | None
"""One name or several, as callers give them; None is all."""


def read_filter(kind: Names = None, type: Names = None, op: Names = None) -> ChangeFilter:
    """A filter as callers say it, such as ``kind="node", op=["insert", "update"]``."""
    kinds, ops = _names(kind), _names(op)
    _check("kind of entities", kinds, KINDS)
    _check("change", ops, [member.value for member in Op])
    return ChangeFilter(kinds, _names(type), None if ops is None else frozenset(map(Op, ops)))


def _names(given: Names) -> frozenset[str] | None:
    if given is None:
        return None
    named = frozenset([given] if isinstance(given, str) else given)
    return named or None


def _check(what: str, given: Iterable[str] | None, known: Iterable[str]) -> None:
    unknown = sorted(set(given or ()) - set(known))
    if unknown:
        raise UsageError(f"{unknown[0]!r} is no {what}", hint=f"there are {', '.join(known)}")
