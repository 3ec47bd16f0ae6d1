"""What mutations and loads would do, found out by doing all of it but the writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.core.html import html_table
from omnigraph.engine.merge.result import table_lines
from omnigraph.write.merge.decide import TableCounts
from omnigraph.write.preview import Previewed


@dataclass(frozen=True, slots=True, repr=False)
class WritePreview:
    """What a write would do to the branch with this head; nothing was changed."""

    branch: str
    head: str
    tables: tuple[TableCounts, ...]

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


def preview(branch: str, write: Callable[[], object]) -> WritePreview:
    """Run a write that was told to be a dry run."""
    try:
        write()
    except Previewed as seen:
        tables = (TableCounts(key, *counts, adopted=False) for key, counts in seen.counts.items() if any(counts))
        return WritePreview(branch, seen.head, tuple(tables))
    raise AssertionError("a dry run ends before it writes")
