"""Tables and pins: the immutable names of stored versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableId:
    """Identity of a type's table: stable across renames of the type, new after drop and re-add."""

    kind: str
    stable_id: int
    incarnation: int

    @property
    def location(self) -> str:
        """Directory of the table, relative to the graph's root."""
        return f"{self.kind}s/{self.stable_id:08x}-{self.incarnation:08x}"


@dataclass(frozen=True, slots=True)
class TablePin:
    """One version of one table. ``lance_version`` opens it; ``table_version`` is the consecutive number users see."""

    key: str
    location: str
    lance_version: int
    table_version: int
    rows: int


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a write created: path relative to the root, size, and a checksum if computing it was cheap."""

    path: str
    size: int
    checksum: str | None = None


Counts = tuple[int, int, int]
"""Entities inserted, updated and deleted in a table."""


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Effect of a write on one table; of one that a merge ``adopted``, the sum over the commits of the source."""

    key: str
    inserted: int
    updated: int
    deleted: int
    adopted: bool
    conflicts: int = 0
