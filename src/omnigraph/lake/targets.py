"""A table that an export writes: new, or a new version that replaces all rows of an existing one.

The caller writes Parquet files with the columns of the target below the directory of the table, in any process, and
commits them once. Before that no reader sees them, afterwards every reader sees all of them and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.protocol import Objects

if TYPE_CHECKING:
    import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The directory of a table, and what the table says about its rows: facts such as the commit that was exported."""

    address: str
    """An absolute path, or an address in an object store."""
    name: str
    facts: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def objects(self) -> Objects:
        """The files below the directory."""
        return open_objects(parse_root(self.address), self.options, Durability.OS)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file of the new version. ``path`` is relative to the directory of the table."""

    path: str
    size: int
    footer: pq.FileMetaData

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


class TableTarget(Protocol):
    """One table while it is written."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the Parquet files, with the metadata that the format needs."""
        ...

    @property
    def data_directory(self) -> str:
        """The directory of new files, relative to that of the table; empty for the same."""
        ...

    def commit(self, files: Sequence[WrittenFile]) -> None:
        """Make these files the rows of the table, in one atomic step."""
        ...
