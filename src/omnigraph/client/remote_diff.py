"""Differences of commits behind HTTP: numbers first, and changes page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph.client.forms import read_change
from omnigraph.client.transport import Query, Request, Transport
from omnigraph.core.display import Display, Displayed, counted, html_table
from omnigraph.engine.history.diff import SHOWN_CHANGES, changes_lines, changes_table
from omnigraph.errors import NotFoundError
from omnigraph.history.changes import Change, Counts

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped] # has no types of its own

PAGE_CHANGES: Final = 10_000
"""Changes of one request: the most that a server gives."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a difference."""

    commit_id: str


@dataclass(frozen=True, repr=False)
class RemoteTableDiff:
    """The changes of one type, in the order of ids."""

    key: str
    """The type as ``node:Person``."""
    counts: Counts
    diff: RemoteDiff = field(repr=False)

    def __len__(self) -> int:
        return self.counts.total

    def __iter__(self) -> Iterator[Change]:
        return (change for change in self.diff.changes() if f"{change.kind}:{change.type_name}" == self.key)

    def __repr__(self) -> str:
        return f"<TableDiff {self.key}: {self.counts}>"


@dataclass(frozen=True, repr=False)
class RemoteDiff(Displayed):
    """The changes that turn one commit into another, with the methods of ``omnigraph.Diff``."""

    transport: Transport = field(repr=False)
    before: Side
    after: Side
    counts: Mapping[str, Counts]
    """Changes by type, such as ``node:Person``."""
    chosen: Query = field(repr=False)

    @property
    def tables(self) -> tuple[RemoteTableDiff, ...]:
        """The types that differ: nodes, then edges, each in the order in which types were made."""
        return tuple(RemoteTableDiff(key, counts, self) for key, counts in self.counts.items())

    def __iter__(self) -> Iterator[RemoteTableDiff]:
        return iter(self.tables)

    def __getitem__(self, key: str) -> RemoteTableDiff:
        found = [table for table in self.tables if key in (table.key, table.key.partition(":")[2])]
        if len(found) != 1:
            raise NotFoundError(f"nothing of {key!r} differs", table=key)
        return found[0]

    def __len__(self) -> int:
        return self.total.total

    def __bool__(self) -> bool:
        return bool(self.counts)

    @property
    def total(self) -> Counts:
        """Changes of all types."""
        return sum(self.counts.values(), Counts())

    def changes(self, limit: int | None = None, *, offset: int = 0) -> Iterator[Change]:
        """Every change, or ``limit`` of them after the first ``offset``: nodes before edges, by type and id."""
        end = len(self) if limit is None else min(len(self), offset + limit)
        for first in range(offset, end, PAGE_CHANGES):
            page = {**self.chosen, "limit": min(PAGE_CHANGES, end - first), "offset": first}
            yield from map(read_change, self.transport.form(Request("GET", "/diff", page))["changes"])

    def _display(self) -> Display:
        lines = [f"{key}: {counts}" for key, counts in self.counts.items()]
        changes = changes_lines("", self.changes(SHOWN_CHANGES), len(self))
        rest = [f"  ... {changes.more:,} more"] if changes.more > 0 else []
        title = f"Diff {self.before.commit_id} -> {self.after.commit_id}: {self.total}"
        return Display(title, lines=lines, notes=[*(f"  {line}" for line in changes.lines or ()), *rest])

    def _repr_html_(self) -> str:
        rows = [(key, item.inserted, item.updated, item.deleted) for key, item in self.counts.items()]
        return html_table(counted(len(self), "change"), ("type", "inserted", "updated", "deleted"), rows)

    def to_arrow(self, limit: int | None = None, *, offset: int = 0) -> pa.Table:
        """Changes of all types as one table, images as JSON texts."""
        return changes_table(self.changes(limit, offset=offset))

    def to_pandas(self, limit: int | None = None) -> pandas.DataFrame:
        """The same as a pandas frame."""
        return self.to_arrow(limit).to_pandas()


def find_diff(transport: Transport, before: str, after: str, chosen: Mapping[str, Any]) -> RemoteDiff:
    """The numbers of a difference. Its pages are those of the commits that were found."""
    query = {**chosen, "from": before, "to": after, "summary": True}
    form = transport.form(Request("GET", "/diff", query))
    counts = {item["table_key"]: Counts(item["inserted"], item["updated"], item["deleted"]) for item in form["tables"]}
    fixed = {**chosen, "from": form["from"], "to": form["to"]}
    return RemoteDiff(transport, Side(form["from"]), Side(form["to"]), counts, fixed)
