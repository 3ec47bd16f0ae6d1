"""The effect of a merge on one table: rows to write, rows to delete, and conflicts.

Rows are local, or remote: merged by Spark tasks, which return key columns only and write the rows themselves. A remote
row is fetched before a resolution changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.conflicts import MergeConflict
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.ends.references import with_types
from omnigraph.rows.validate import unique_columns
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.write.merge.images import LOCATED, merged_schema


class RemoteParts(Protocol):
    """Merged rows on Spark."""

    def fetch(self, ids: Sequence[str]) -> pa.Table:
        """Fetch some rows with all columns."""
        ...

    def write(self, without: frozenset[str]) -> list[WrittenRows]:
        """Write all rows except some as fragments."""
        ...


@dataclass(frozen=True)
class RemoteRows:
    """Key columns of remote rows, without those that were fetched (``taken``)."""

    keys: pa.Table
    parts: RemoteParts
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableMerge:
    """The effect of a merge on one table of the target.

    ``rows`` are whole entities to write. Deleted or replaced rows of the target are located by their address in the
    base if the target has not changed them (``gone_from_base``), else in the target (``gone_from_target``). An entity
    with an unresolved conflict keeps the state of the target.
    """

    entity: Entity
    rows: pa.Table
    gone_from_base: pa.Table
    gone_from_target: pa.Table
    conflicts: tuple[MergeConflict, ...] = ()
    mixed: frozenset[str] = frozenset()
    """Ids of entities that differ from both sides."""
    also_gone: frozenset[str] = frozenset()
    """Ids of further rows of the target that a resolution deletes."""
    remote: RemoteRows | None = None
    unwanted: frozenset[str] = frozenset()
    """Ids that a resolution removes although a side has them. No side has deleted the edges at such a node."""
    left: frozenset[str] = frozenset()
    """Ids that a resolution keeps as in the version that the table stands on. They are not yet checked against the
    changes of the other side."""

    @property
    def is_empty(self) -> bool:
        gone = self.gone_from_base.num_rows or self.gone_from_target.num_rows or self.also_gone
        return not (self.keys().num_rows or gone)

    def keys(self) -> pa.Table:
        """Every row to write, with at least its key columns."""
        if self.remote is None:
            return self.rows
        return pa.concat_tables([self.rows.select(self.remote.keys.column_names), self.remote.keys])

    def ids(self) -> list[str]:
        """Ids of the rows to write."""
        ids: list[str] = self.keys().column("id").to_pylist()
        return ids

    def gone(self) -> set[str]:
        """Ids of rows of the target that are deleted or replaced."""
        tables = (self.gone_from_base, self.gone_from_target)
        return {id_ for table in tables for id_ in table.column("id").to_pylist()} | self.also_gone

    def removed(self) -> frozenset[str]:
        """Ids that the target has and the merged graph lacks."""
        return frozenset(self.gone().difference(self.ids()))

    def fetch(self, ids: Iterable[str]) -> TableMerge:
        """The same with some remote rows made local. Their value conflicts are dropped: the rows are checked again."""
        wanted = pa.array(sorted(set(ids)), pa.string())
        if self.remote is None:
            return self
        is_wanted = pc.is_in(self.remote.keys.column("id"), value_set=wanted)
        found = self.remote.keys.column("id").filter(is_wanted).to_pylist()
        if not found:
            return self
        remote = replace(
            self.remote, keys=self.remote.keys.filter(pc.invert(is_wanted)), taken=self.remote.taken.union(found)
        )
        return replace(
            self,
            rows=pa.concat_tables([self.rows, self.remote.parts.fetch(found)]),
            conflicts=tuple(item for item in self.conflicts if item.kind.is_of_rows or item.id not in set(found)),
            remote=remote,
        )


def key_columns(entity: Entity) -> list[str]:
    """The columns that constraints over several rows need: ids, endpoints, unique values."""
    ends = ("src", "dst") if isinstance(entity, EdgeType) else ()
    return with_types(entity, ("id", *ends, *(name for columns in unique_columns(entity) for name in columns)))


def untouched(entity: Entity) -> TableMerge:
    """The empty effect."""
    return TableMerge(entity, merged_schema(entity).empty_table(), LOCATED.empty_table(), LOCATED.empty_table())
