"""Results of copies, backups and restores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.results import VerifyReport


@dataclass(frozen=True, slots=True, repr=False)
class CopyResult(Displayed):
    """Outcome of a copy, which was verified."""

    source: str
    target: str
    graph_id: str
    """The id of the target: that of the source for a copy with history, else its own."""
    history: bool
    branches: Mapping[str, str]
    """The branches of the target, with their head commits."""
    files_copied: int
    bytes_copied: int
    files_kept: int
    """Files that an earlier run had copied."""
    report: VerifyReport
    """The verification of the target."""

    def _display(self) -> Display:
        scope = "history" if self.history else "heads"
        copied = f"{counted(self.files_copied, 'file')} ({self.bytes_copied:,} bytes) copied, {self.files_kept:,} kept"
        lines = [f"{name}: {commit}" for name, commit in self.branches.items()]
        title = f"CopyResult {scope} of {self.source} in {self.target}: {copied}"
        return Display(title, ("branch", "head"), [*self.branches.items()], lines=lines)
