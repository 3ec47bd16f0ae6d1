"""Results of the document pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.engine_choice import EMBEDDED


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Documents by what became of them, and the chunks and links of those that were processed."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    mentions: int = 0

    def __add__(self, other: DocumentCounts) -> DocumentCounts:
        return DocumentCounts(
            self.new + other.new,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.removed + other.removed,
            self.chunks + other.chunks,
            self.mentions + other.mentions,
        )

    @property
    def total(self) -> int:
        """Documents of the input."""
        return self.new + self.changed + self.unchanged

    def summary(self) -> str:
        """The counts as text."""
        removed = f", {self.removed:,} removed" if self.removed else ""
        fates = f"{self.new:,} new, {self.changed:,} changed, {self.unchanged:,} unchanged{removed}"
        made = f"{counted(self.chunks, 'chunk')}, {counted(self.mentions, 'mention')}"
        return f"{counted(self.total, 'document')} ({fates}), {made}"


@dataclass(frozen=True, slots=True, repr=False)
class DocumentsResult(Displayed):
    """A run of the document pipeline. It made no commit if no document had changed."""

    branch: str
    counts: DocumentCounts
    commits: tuple[GraphCommit, ...] = ()
    engine: str = EMBEDDED
    branch_created: bool = False
    resumed: bool = False
    """True if the run continued one that was interrupted."""
    remarks: tuple[str, ...] = ()

    @property
    def commit(self) -> GraphCommit | None:
        """The last commit; of an atomic run the only one."""
        return self.commits[-1] if self.commits else None

    def _display(self) -> Display:
        made = "" if self.commit is None else f", commit {self.commit.id}"
        return Display(f"DocumentsResult on {self.branch}: {self.counts.summary()}{made}", notes=self.remarks)


@dataclass(frozen=True, slots=True, repr=False)
class DocumentsPreview(Displayed):
    """The documents that a run would process. Nothing was embedded or changed."""

    branch: str
    head: str
    counts: DocumentCounts

    def _display(self) -> Display:
        return Display(f"DocumentsPreview on {self.branch}: {self.counts.summary()}")
