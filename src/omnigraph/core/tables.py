"""Tables and pins: the immutable names of stored versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableId:
    """Names the table of one type for the whole life of that type: stable across renames, new after drop and re-add."""

    kind: str
    stable_id: int
    incarnation: int

    @property
    def location(self) -> str:
        """Where the table lies, relative to the graph's root."""
        return f"{self.kind}s/{self.stable_id:08x}-{self.incarnation:08x}"


@dataclass(frozen=True, slots=True)
class TablePin:
    """One version of one table. ``lance_version`` opens it; ``table_version`` counts 1, 2, 3 for people."""

    key: str
    location: str
    lance_version: int
    table_version: int
    rows: int


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a write made, relative to the root, with its size, and its checksum where that was cheap to take."""

    path: str
    size: int
    checksum: str | None = None


Counts = tuple[int, int, int]
"""Entities inserted, updated and deleted in a table."""
