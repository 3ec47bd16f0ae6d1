"""Conflicts of a merge, and how a caller settles them: both are data.

A conflict names one entity, and for two different changes of one value the property, with the values of the base and of
both sides. A resolution says for one conflict, or for all of a kind, which side counts or what the value is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from omnigraph.errors import UsageError

E = TypeVar("E", bound=Enum)


class ConflictKind(Enum):
    """Why two changes cannot both stand."""

    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    UPDATE_VS_DELETE = "update_vs_delete"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"

    @property
    def is_of_rows(self) -> bool:
        """Whether two sides changed one entity; the others are broken constraints of the merged graph."""
        return self in _OF_ROWS


_OF_ROWS = frozenset(
    {
        ConflictKind.DIVERGENT_INSERT,
        ConflictKind.DIVERGENT_UPDATE,
        ConflictKind.DELETE_VS_UPDATE,
        ConflictKind.UPDATE_VS_DELETE,
    }
)


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """One conflict. Values are as query results show them; a side on which the entity is absent has none.

    ``id`` is that of the entity; of too many or too few edges it is that of the node they start from.
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
        return f"{kind} type '{name}'{whose} ({self.kind.value}): {self.message}"


def in_order(conflicts: Iterable[MergeConflict]) -> tuple[MergeConflict, ...]:
    """Conflicts of entities first, then broken constraints; by table, id and property."""
    return tuple(sorted(conflicts, key=_order))


def _order(conflict: MergeConflict) -> tuple[bool, str, str, str, str, str]:
    names = (conflict.table, conflict.id or "", conflict.property or "", conflict.kind.value, conflict.message)
    return (not conflict.kind.is_of_rows, *names)


class Take(Enum):
    """How a conflict is settled."""

    SOURCE = "source"
    TARGET = "target"
    BASE = "base"
    VALUE = "value"
    EXPRESSION = "expression"
    """A value made of those of the base and of both sides."""
    DELETE = "delete"
    """The entity goes away: for an edge whose end does not exist any more."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Settles every conflict that it fits; what it does not name it does not care about.

    ``value`` is the value to take, or the text of the expression that makes it.
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
    ConflictKind.ORPHAN_EDGE: _SIDES | {Take.DELETE},
    ConflictKind.UNIQUE_VIOLATION: _SIDES | {Take.VALUE, Take.DELETE},
    ConflictKind.CARDINALITY_VIOLATION: _SIDES,
    ConflictKind.VALUE_CONSTRAINT_VIOLATION: frozenset({Take.VALUE, Take.DELETE}),
}
"""What can be done about a conflict. A side of a broken constraint means all entities that it is about, and whoever
takes one says so: a rule for all kinds means two changes of one entity."""


@dataclass(frozen=True)
class Resolutions:
    """All that a caller said: choices for single entities count before rules, and earlier ones before later ones."""

    given: tuple[Resolution, ...] = ()

    def of(self, conflict: MergeConflict) -> Resolution | None:
        choices = self._by_id.get(conflict.id, ()) if conflict.id is not None else ()
        return next((item for item in (*choices, *self._by_id.get(None, ())) if item.fits(conflict)), None)

    @cached_property
    def _by_id(self) -> dict[str | None, list[Resolution]]:
        """There may be a choice for each of many conflicts."""
        found: dict[str | None, list[Resolution]] = {}
        for item in self.given:
            found.setdefault(item.id, []).append(item)
        return found


def read_resolutions(said: Sequence[Mapping[str, Any] | Resolution]) -> Resolutions:
    """Resolutions as a caller writes them, such as ``{"type": "Person", "property": "age", "take": "source"}``."""
    return Resolutions(tuple(item if isinstance(item, Resolution) else _read(item) for item in said))


_KEYS = ("type", "id", "property", "kind", "take", "value", "expression")


def _read(said: Mapping[str, Any]) -> Resolution:
    unknown = sorted(set(said) - set(_KEYS))
    if unknown:
        raise UsageError(f"a resolution has no {unknown[0]!r}", hint=f"it has {', '.join(_KEYS)}")
    for key in ("type", "id", "property"):
        if not isinstance(said.get(key), str | None):
            raise UsageError(f"the {key} of a resolution is a text, not {said[key]!r}")
    answers = [key for key in ("take", "value", "expression") if key in said]
    if len(answers) != 1:
        raise UsageError(
            "a resolution says either what to take, or a value, or an expression",
            hint='for example {"type": "Person", "property": "age", "take": "source"}',
        )
    made = next((take for take in _MADE if take.value in said), None)
    take = _one_of(Take, said["take"], "take", without=_MADE) if made is None else made
    value = None if made is None else said[made.value]
    if take is Take.EXPRESSION and not isinstance(value, str):
        raise UsageError(f"the expression of a resolution is a text, not {value!r}", hint='such as "$source + 1"')
    kind = None if said.get("kind") is None else _one_of(ConflictKind, said["kind"], "kind")
    return Resolution(take, value, said.get("type"), said.get("id"), said.get("property"), kind)


def _one_of(enum: type[E], word: object, what: str, without: Sequence[E] = ()) -> E:
    words = {member.value: member for member in enum if member not in without}
    if not isinstance(word, str) or word not in words:
        raise UsageError(f"{word!r} is no {what} of a resolution", hint=f"there are {', '.join(words)}")
    return words[word]
