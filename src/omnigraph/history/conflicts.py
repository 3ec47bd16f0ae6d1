"""Merge conflicts and their resolutions, as data.

A conflict names one entity. A conflict of two values also names the property, with the values of base, source and
target. A resolution chooses a side or a value for one conflict, or for every conflict that it matches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, TypeVar

from omnigraph.errors import UsageError

E = TypeVar("E", bound=Enum)

SHOWN_CHARS_MAX = 40
"""Characters of one value in a message."""


class ConflictKind(StrEnum):
    """Reason of a conflict."""

    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    UPDATE_VS_DELETE = "update_vs_delete"
    DIVERGENT_SOURCE = "divergent_source"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"

    @property
    def is_of_rows(self) -> bool:
        """True if both sides changed one entity, or pinned other versions of one external table.

        The other kinds are broken constraints of the merged graph.
        """
        return self in _OF_ROWS


_OF_ROWS = frozenset(
    {
        ConflictKind.DIVERGENT_INSERT,
        ConflictKind.DIVERGENT_UPDATE,
        ConflictKind.DELETE_VS_UPDATE,
        ConflictKind.UPDATE_VS_DELETE,
        ConflictKind.DIVERGENT_SOURCE,
    }
)


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """One conflict. Values have the form of query results; a side without the entity has None.

    ``id`` is the id of the entity; for a cardinality violation it is the id of the source node of the edges. An
    external table has none.
    """

    table: str
    id: str | None
    kind: ConflictKind
    property: str | None = None
    base: Any = None
    source: Any = None
    target: Any = None
    message: str = ""

    def type_name(self) -> str:
        return self.table.split(":", 1)[1]

    def __str__(self) -> str:
        kind, name = self.table.split(":", 1)
        whose = f", entity id '{self.id}'" if self.id is not None else ""
        return f"{kind} type '{name}'{whose} ({self.kind.value}): {self.message}{self._values()}"

    def _values(self) -> str:
        """The values of the three sides, where both changed one entity."""
        if not self.kind.is_of_rows:
            return ""
        sides = {"base": self.base, "source": self.source, "target": self.target}
        return ": " + ", ".join(f"{side} {short_value(value)}" for side, value in sides.items())


def short_value(value: object) -> str:
    """A value as JSON, shortened for messages and tables; ``null`` is also a side without the entity."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 3] + "..."


def in_order(conflicts: Iterable[MergeConflict]) -> tuple[MergeConflict, ...]:
    """Sort by entity conflicts before broken constraints, then by table, id and property."""
    return tuple(sorted(conflicts, key=_order))


def _order(conflict: MergeConflict) -> tuple[bool, str, str, str, str, str]:
    names = (conflict.table, conflict.id or "", conflict.property or "", conflict.kind.value, conflict.message)
    return (not conflict.kind.is_of_rows, *names)


class Take(StrEnum):
    """Origin of the value or entity that resolves a conflict."""

    SOURCE = "source"
    TARGET = "target"
    BASE = "base"
    VALUE = "value"
    EXPRESSION = "expression"
    """A value computed from base, source and target."""
    DELETE = "delete"
    """Delete the entity, such as an edge whose endpoint was deleted."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A rule that resolves every conflict that it matches. A field that is None matches everything.

    ``value`` is the value to take, or the text of the expression that computes it.
    """

    take: Take
    value: Any = None
    type_name: str | None = None
    id: str | None = None
    property: str | None = None
    kind: ConflictKind | None = None

    def fits(self, conflict: MergeConflict) -> bool:
        return (
            self.type_name in (None, conflict.type_name())
            and self.id in (None, conflict.id)
            and self.property in (None, conflict.property)
            and self.kind in (None, conflict.kind)
            and self.take in _POSSIBLE[conflict.kind]
            and (self.kind is not None or conflict.kind.is_of_rows or self.take not in _SIDES)
        )


_MADE = (Take.VALUE, Take.EXPRESSION)
_SIDES = frozenset({Take.SOURCE, Take.TARGET})
_POSSIBLE: dict[ConflictKind, frozenset[Take]] = {
    ConflictKind.DIVERGENT_INSERT: _SIDES | {Take.VALUE, Take.EXPRESSION},
    ConflictKind.DIVERGENT_UPDATE: _SIDES | {Take.VALUE, Take.EXPRESSION, Take.BASE},
    ConflictKind.DELETE_VS_UPDATE: _SIDES,
    ConflictKind.UPDATE_VS_DELETE: _SIDES,
    ConflictKind.DIVERGENT_SOURCE: _SIDES,
    ConflictKind.ORPHAN_EDGE: _SIDES | {Take.DELETE},
    ConflictKind.UNIQUE_VIOLATION: _SIDES | {Take.VALUE, Take.DELETE},
    ConflictKind.CARDINALITY_VIOLATION: _SIDES,
    ConflictKind.VALUE_CONSTRAINT_VIOLATION: frozenset({Take.VALUE, Take.DELETE}),
}
"""Resolutions that apply to each kind. For a broken constraint, taking a side means taking every entity involved from
that side, so the resolution must name the kind; a rule without a kind matches entity conflicts only."""


@dataclass(frozen=True)
class Resolutions:
    """The resolutions of a call. Those for single entities precede general ones; earlier ones precede later ones."""

    given: tuple[Resolution, ...] = ()

    def of(self, conflict: MergeConflict) -> Resolution | None:
        choices = self._by_id.get(conflict.id, ()) if conflict.id is not None else ()
        return next((item for item in (*choices, *self._by_id.get(None, ())) if item.fits(conflict)), None)

    @cached_property
    def _by_id(self) -> dict[str | None, list[Resolution]]:
        """Resolutions by entity id: with one for each of many conflicts, a scan per conflict would be quadratic."""
        found: dict[str | None, list[Resolution]] = {}
        for item in self.given:
            found.setdefault(item.id, []).append(item)
        return found


def read_resolutions(given: Sequence[Mapping[str, Any] | Resolution]) -> Resolutions:
    """Read resolutions such as ``{"type": "Person", "property": "age", "take": "source"}``."""
    return Resolutions(tuple(item if isinstance(item, Resolution) else _read(item) for item in given))


_KEYS = ("type", "id", "property", "kind", "take", "value", "expression")


def _read(given: Mapping[str, Any]) -> Resolution:
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        raise UsageError(f"unknown key of a resolution: {unknown[0]!r}", hint=f"the keys are {', '.join(_KEYS)}")
    for key in ("type", "id", "property"):
        if not isinstance(given.get(key), str | None):
            raise UsageError(f"{key} of a resolution must be a string, got {given[key]!r}")
    answers = [key for key in ("take", "value", "expression") if key in given]
    if len(answers) != 1:
        raise UsageError(
            "a resolution needs exactly one of take, value and expression",
            hint='for example {"type": "Person", "property": "age", "take": "source"}',
        )
    made = next((take for take in _MADE if take.value in given), None)
    take = _one_of(Take, given["take"], "take", without=_MADE) if made is None else made
    value = None if made is None else given[made.value]
    if take is Take.EXPRESSION and not isinstance(value, str):
        raise UsageError(
            f"expression of a resolution must be a string, got {value!r}", hint='for example "$source + 1"'
        )
    kind = None if given.get("kind") is None else _one_of(ConflictKind, given["kind"], "kind")
    return Resolution(take, value, given.get("type"), given.get("id"), given.get("property"), kind)


def _one_of(enum: type[E], word: object, what: str, without: Sequence[E] = ()) -> E:
    words = {member.value: member for member in enum if member not in without}
    if not isinstance(word, str) or word not in words:
        raise UsageError(f"unknown {what} of a resolution: {word!r}", hint=f"expected one of {', '.join(words)}")
    return words[word]
