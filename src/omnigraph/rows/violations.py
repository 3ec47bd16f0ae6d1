"""Constraint violations of rows: collected, counted and sampled.

A violation is data; nothing here raises. The writer decides when to stop and which error to raise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice
from types import MappingProxyType

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import Hint
from omnigraph.rows.limits import COUNTED_KINDS_MAX, SAMPLES_MAX, SAMPLES_PER_KIND_MAX, SHOWN_CHARS_MAX


class ViolationCode(StrEnum):
    """The rules that a row can violate."""

    MALFORMED = "malformed"
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_PROPERTY = "unknown_property"
    REQUIRED = "required"
    TYPE = "type"
    ENUM = "enum"
    RANGE = "range"
    CHECK = "check"
    KEY = "key"
    UNIQUE = "unique"
    DUPLICATE_ID = "duplicate_id"
    NOT_FOUND = "not_found"
    ENDPOINT = "endpoint"
    CARDINALITY = "cardinality"


class PartName(str):
    """Name of one part of an input, for messages. Parts of one name differ by ``number``, which counts the parts.

    A load that rejects rows identifies them by place, and may read a file twice: a mapping does so for two types.
    """

    __slots__ = ("number",)
    number: int

    def __new__(cls, name: str, number: int) -> PartName:
        made = super().__new__(cls, name)
        made.number = number
        return made

    def __eq__(self, other: object) -> bool:
        is_other = isinstance(other, PartName) and other.number != self.number
        return not is_other and str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class Place:
    """Source location of a row: a file and line, or an iterable and record number; both count from 1."""

    source: str
    line: int

    @property
    def is_unnamed(self) -> bool:
        """True if the input has no name: the source is what places count."""
        return self.source in _COUNTED

    def __str__(self) -> str:
        return f"{self.source} {self.line}" if self.is_unnamed else f"{self.source}:{self.line}"


_COUNTED = frozenset({"line", "record"})
"""Names of inputs that have none of their own, such as the body of a request: what their places count."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule violated by one row. ``table_key`` is None if the table of the row is unknown.

    ``other_id`` is the other entity involved: the holder of the same unique value, or the node at an end of an edge.
    """

    code: ViolationCode
    message: str
    table_key: str | None = None
    entity_id: str | None = None
    property: str | None = None
    place: Place | None = None
    other_id: str | None = None
    other_table: str | None = None
    """The table of a node at an end of an edge."""

    def __str__(self) -> str:
        return self.message if self.place is None else f"{self.place}: {self.message}"


Kind = tuple[ViolationCode, str | None, str | None]


class Violations:
    """Counts violations per (code, table, property) and keeps the first of each kind, or all with ``keeps_all``."""

    def __init__(self, *, keeps_all: bool = False) -> None:
        self._keeps_all = keeps_all
        self._counts: dict[Kind, int] = {}
        self._sampled: dict[Kind, int] = {}
        self._samples: list[Violation] = []
        self._total = 0
        self.unidentified: set[str] = set()
        """Tables whose rows could not be read at all: their ids are unknown, so no reference to them is judged."""
        self.advice: str | Hint | None = None
        """The next step that a reader of the input proposes for the first violation."""

    def advise(self, hint: str | Hint) -> None:
        """Propose the next step for the violation that is added next; only the first one's is kept."""
        if self._total == 0 and self.advice is None:
            self.advice = hint

    @property
    def total(self) -> int:
        return self._total

    @property
    def samples(self) -> tuple[Violation, ...]:
        """The first violations of each kind, in the order found."""
        return tuple(self._samples)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """Violations per (code, table, property); kinds beyond the limit are counted under (code, None, None)."""
        return MappingProxyType(self._counts)

    def add(self, violation: Violation) -> None:
        kind = (violation.code, violation.table_key, violation.property)
        if self._room(kind) > 0:
            self._keep(kind, violation)
        self._count(kind, 1)

    def add_group(self, kind: Kind, count: int, violations: Iterable[Violation]) -> None:
        """Add ``count`` violations of one kind; only those that are kept are taken from the iterable."""
        for violation in islice(violations, self._room(kind)):
            self._keep(kind, violation)
        self._count(kind, count)

    def absorb(self, other: Violations) -> None:
        """Append the violations of another reader of the same input."""
        for violation in other.samples:
            kind = (violation.code, violation.table_key, violation.property)
            if self._room(kind) > 0:
                self._keep(kind, violation)
        for kind, count in other.counts.items():
            self._count(kind, count)
        self.unidentified |= other.unidentified
        self.advice = self.advice or other.advice

    def _room(self, kind: Kind) -> int:
        if self._keeps_all:
            return sys.maxsize
        return min(SAMPLES_PER_KIND_MAX - self._sampled.get(kind, 0), SAMPLES_MAX - len(self._samples))

    def _keep(self, kind: Kind, violation: Violation) -> None:
        self._samples.append(violation)
        self._sampled[kind] = self._sampled.get(kind, 0) + 1

    def _count(self, kind: Kind, count: int) -> None:
        if kind not in self._counts and len(self._counts) >= COUNTED_KINDS_MAX:
            kind = (kind[0], None, None)
        self._counts[kind] = self._counts.get(kind, 0) + count
        self._total += count


def shown(value: object) -> str:
    """A value for messages: its ``repr``, truncated."""
    text = repr(value[: SHOWN_CHARS_MAX + 1]) if isinstance(value, str | bytes) else repr(value)
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."
