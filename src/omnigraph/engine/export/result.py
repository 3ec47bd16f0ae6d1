"""Results of exports."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.display import Display, Displayed, counted


@dataclass(frozen=True, slots=True, repr=False)
class ExportedFile(Displayed):
    """An exported file and its number of entities. ``path`` is relative to the directory."""

    path: str
    type_name: str
    rows: int
    bytes: int = 0

    def _display(self) -> Display:
        return Display(f"{self.path}: {self.rows:,} {self.type_name}")


@dataclass(frozen=True, slots=True, repr=False)
class ExportResult(Displayed):
    """Outcome of an export to files."""

    target: str
    """The directory, or the file if only one was written."""
    format: str
    commit_id: str
    files: tuple[ExportedFile, ...]

    @property
    def entities(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def _display(self) -> Display:
        lines = [f"{file.path}: {file.rows:,} {file.type_name}" for file in self.files]
        rows = [(file.path, file.type_name, file.rows, file.bytes) for file in self.files]
        entities = counted(self.entities, "entity", "entities")
        title = f"ExportResult {self.target} ({self.format}): {entities} at {self.commit_id}"
        return Display(title, ("file", "type", "entities", "bytes"), rows, lines=lines)
