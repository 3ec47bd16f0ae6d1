"""What a merge does to one table: rows to write, rows that go away, and conflicts.

The rows are at hand, or away: merged in parts by others, who send only keys and write the rows themselves. A row that
the caller settles something about is brought here first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.conflicts import MergeConflict
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.validate import unique_columns
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.write.merge.images import LOCATED, merged_schema


class RemoteParts(Protocol):
    """Merged rows that are away."""

    def fetch(self, ids: Sequence[str]) -> pa.Table:
        """Some of the rows, whole."""
        ...

    def write(self, without: frozenset[str]) -> list[WrittenRows]:
        """Write all rows but some as fragments."""
        ...


@dataclass(frozen=True)
class RemoteRows:
    """The keys of rows that are away, without those that were ``taken`` here."""

    keys: pa.Table
    parts: RemoteParts
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableMerge:
    """What a merge does to one table of the target.

    ``rows`` are whole entities to write. Rows of the target that go away, replaced or not, are located in the base
    where the target has them as the base had them, else in the target. An entity with a conflict that nobody settled
    stays as the target has it.
    """

    entity: Entity
    rows: pa.Table
    gone_from_base: pa.Table
    gone_from_target: pa.Table
    conflicts: tuple[MergeConflict, ...] = ()
    mixed: frozenset[str] = frozenset()
    """Ids of entities that are as neither side has them."""
    also_gone: frozenset[str] = frozenset()
    """Ids of further rows of the target that go away, because the caller settled a conflict so."""
    remote: RemoteRows | None = None
    unwanted: frozenset[str] = frozenset()
    """Ids that are not there because the caller settled a conflict so, whoever has them. Nobody deleted the edges at
    such a node."""
    left: frozenset[str] = frozenset()
    """Ids that are as the version has them on which the table stands, because the caller settled a conflict so. Nobody
    checked them against what the other side did."""

    @property
    def is_empty(self) -> bool:
        gone = self.gone_from_base.num_rows or self.gone_from_target.num_rows or self.also_gone
        return not (self.keys().num_rows or gone)

    def keys(self) -> pa.Table:
        """Every row to write, with at least the columns that tell about other rows."""
        if self.remote is None:
            return self.rows
        return pa.concat_tables([self.rows.select(self.remote.keys.column_names), self.remote.keys])

    def ids(self) -> list[str]:
        """Ids of the rows to write."""
        ids: list[str] = self.keys().column("id").to_pylist()
        return ids

    def gone(self) -> set[str]:
        """Ids of the target's rows that go away or are replaced."""
        tables = (self.gone_from_base, self.gone_from_target)
        return {id_ for table in tables for id_ in table.column("id").to_pylist()} | self.also_gone

    def removed(self) -> frozenset[str]:
        """Ids that the target has and the merged graph has not."""
        return frozenset(self.gone().difference(self.ids()))

    def fetch(self, ids: Iterable[str]) -> TableMerge:
        """The same with some rows at hand. What was said of their values is left to whoever checks them here."""
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
    """The columns that tell about other rows: ids, ends of edges, unique values."""
    ends = ("src", "dst") if isinstance(entity, EdgeType) else ()
    return list(dict.fromkeys(("id", *ends, *(name for columns in unique_columns(entity) for name in columns))))


def untouched(entity: Entity) -> TableMerge:
    """A table that stays as it is."""
    return TableMerge(entity, merged_schema(entity).empty_table(), LOCATED.empty_table(), LOCATED.empty_table())
