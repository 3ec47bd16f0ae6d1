"""Previews of mutations and loads: the counts of the prepared change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.tables import TableCounts, changes_display
from omnigraph.engine.tabular import ReturnedRows
from omnigraph.write.preview import Previewed


@dataclass(frozen=True, slots=True, repr=False)
class WritePreview(Displayed):
    """The counts that a write would commit on the branch with this head; nothing was changed."""

    branch: str
    head: str
    tables: tuple[TableCounts, ...]
    rejected: int = 0
    """Rows that the load would reject, where the caller wants that."""
    rejections: tuple[str, ...] = ()
    """The first of them, each with its place and a reason."""
    returned: ReturnedRows | None = field(default=None, compare=False)
    """The rows that ``returning`` of a mutation would give."""

    @classmethod
    def of(cls, branch: str, seen: Previewed) -> WritePreview:
        """The preview of a prepared change to a branch."""
        tables = (TableCounts(key, *counts, adopted=False) for key, counts in seen.counts.items() if any(counts))
        return cls(branch, seen.head, tuple(tables))

    @property
    def total(self) -> int:
        """Entities that would be inserted, updated or deleted."""
        return sum(item.inserted + item.updated + item.deleted for item in self.tables)

    def _display(self) -> Display:
        rejected = f", {counted(self.rejected, 'row')} rejected" if self.rejected else ""
        title = f"WritePreview on {self.branch}: {counted(self.total, 'entity', 'entities')} would change{rejected}"
        shown = changes_display(title, self.tables)
        rows = [] if self.returned is None else [repr(self.returned)]
        return replace(shown, notes=[*shown.notes, *(f"rejected {line}" for line in self.rejections), *rows])
