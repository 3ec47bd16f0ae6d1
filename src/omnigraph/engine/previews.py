"""Previews of mutations and loads: the counts of the prepared change."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.html import html_table
from omnigraph.core.tables import TableCounts
from omnigraph.engine.table_counts import table_lines
from omnigraph.write.preview import Previewed


@dataclass(frozen=True, slots=True, repr=False)
class WritePreview:
    """The counts that a write would commit on the branch with this head; nothing was changed."""

    branch: str
    head: str
    tables: tuple[TableCounts, ...]

    @classmethod
    def of(cls, branch: str, seen: Previewed) -> WritePreview:
        """The preview of a prepared change to a branch."""
        tables = (TableCounts(key, *counts, adopted=False) for key, counts in seen.counts.items() if any(counts))
        return cls(branch, seen.head, tuple(tables))

    @property
    def total(self) -> int:
        """Entities that would be inserted, updated or deleted."""
        return sum(item.inserted + item.updated + item.deleted for item in self.tables)

    def __repr__(self) -> str:
        return f"<WritePreview on {self.branch}: {self.total:,} entities>" + table_lines(self.tables)

    def _repr_html_(self) -> str:
        rows = [(item.key, item.inserted, item.updated, item.deleted) for item in self.tables]
        caption = f"{self.total:,} entities would change on {self.branch}"
        return html_table(caption, ("table", "inserted", "updated", "deleted"), rows)
