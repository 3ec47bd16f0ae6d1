"""Tables and pins: the immutable names of stored versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.display import Display

EXTERNAL_DIRECTORY: Final = "external"
"""The directory of the seals of external types. Their rows are in tables of other formats, outside the graph."""


@dataclass(frozen=True, slots=True)
class TableId:
    """Identity of a type's table: stable across renames of the type, new after drop and re-add."""

    kind: str
    stable_id: int
    incarnation: int
    is_external: bool = False

    @property
    def location(self) -> str:
        """Directory of the table, relative to the graph's root; of an external one, that of its seals."""
        own = f"{self.kind}s/{self.stable_id:08x}-{self.incarnation:08x}"
        return f"{EXTERNAL_DIRECTORY}/{own}" if self.is_external else own


@dataclass(frozen=True, slots=True)
class TablePin:
    """One version of one table. ``lance_version`` opens it; ``table_version`` is the consecutive number users see.

    The version of an external table is the number of its seal: the list of the files that hold its rows.
    """

    key: str
    location: str
    lance_version: int
    table_version: int
    rows: int

    @property
    def is_external(self) -> bool:
        return is_external(self.location)


def is_external(location: str) -> bool:
    """True if a table holds no rows of its own."""
    return location.startswith(f"{EXTERNAL_DIRECTORY}/")


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


class Changed(Protocol):
    """A table with the number of entities per kind of change."""

    @property
    def key(self) -> str: ...
    @property
    def inserted(self) -> int: ...
    @property
    def updated(self) -> int: ...
    @property
    def deleted(self) -> int: ...


def changes_display(title: str, tables: Iterable[Changed], notes: Sequence[str] = ()) -> Display:
    """The changes of some tables: ``node:Person: +1 ~0 -2`` in plain text."""
    rows = [(table.key, table.inserted, table.updated, table.deleted) for table in tables]
    lines = [f"{key}: +{inserted:,} ~{updated:,} -{deleted:,}" for key, inserted, updated, deleted in rows]
    return Display(title, ("table", "inserted", "updated", "deleted"), rows, lines=lines, notes=notes)
