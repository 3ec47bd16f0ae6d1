"""The result of a refresh of a mirror."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.display import Display, Displayed, counted


@dataclass(frozen=True, slots=True, repr=False)
class MirroredTable(Displayed):
    """One dataset: the rows it shows, its newest version, and whether this refresh made that version."""

    name: str
    rows: int
    version: int
    is_changed: bool

    def _display(self) -> Display:
        made = ", changed" if self.is_changed else ""
        return Display(f"{self.name}: {counted(self.rows, 'row')} at version {self.version}{made}")


@dataclass(frozen=True, slots=True, repr=False)
class MirrorResult(Displayed):
    """A mirror after a refresh."""

    target: str
    branch: str
    commit_id: str
    tables: tuple[MirroredTable, ...]
    removed: tuple[str, ...] = ()
    """Datasets of types that the branch no longer has, deleted by this refresh."""
    skipped: tuple[str, ...] = ()
    """External types: their rows are in tables of other formats, which this mirror does not show."""

    def _display(self) -> Display:
        rows = [(item.name, item.rows, item.version, item.is_changed) for item in self.tables]
        notes = [f"removed: {', '.join(self.removed)}"] if self.removed else []
        notes += [f"external, not mirrored: {', '.join(self.skipped)}"] if self.skipped else []
        title = f"MirrorResult {self.target}: {self.branch} at {self.commit_id}"
        return Display(title, ("table", "rows", "version", "changed"), rows, notes=notes)
