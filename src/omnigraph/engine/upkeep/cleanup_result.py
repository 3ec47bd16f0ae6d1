"""Result of ``cleanup``: commits by their fate, files and bytes by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.upkeep.sweep import Count, Fate
from omnigraph.write.upkeep.cleanup import CleanupOutcome, CleanupSettings


@dataclass(frozen=True, repr=False)
class CleanupResult(Displayed):
    """Outcome of a cleanup, or of its dry run."""

    dry_run: bool
    keep: int | None
    older_than_us: int | None
    grace_us: int
    commits_retained: int
    """Commits that can be read, on all branches together."""
    commits_given_up: int
    """Commits that could be read before."""
    commits_waiting: int
    """Commits that are given up, and whose files stay until the grace period is over."""
    commits_gone: int
    """Commits whose files were free to go since this run."""
    files: Mapping[str, Mapping[Fate, Count]]
    """By kind of file, and what became of it."""
    damaged: tuple[Damaged, ...] = ()
    """Files that cannot be read. Whatever they may lead to was left alone."""

    @classmethod
    def of(cls, settings: CleanupSettings, outcome: CleanupOutcome) -> CleanupResult:
        files: dict[str, dict[Fate, Count]] = defaultdict(lambda: defaultdict(Count))
        for swept in outcome.swept:
            for (kind, fate), count in swept.counts.items():
                files[kind][fate].add(count)
        return cls(
            settings.is_dry,
            settings.policy.keep,
            settings.policy.older_than_us,
            settings.grace_us,
            outcome.retained,
            outcome.given_up,
            outcome.waiting,
            outcome.gone,
            {kind: dict(files[kind]) for kind in sorted(files)},
            tuple(outcome.damaged),
        )

    def total(self, fate: Fate) -> Count:
        """All files of one fate."""
        total = Count()
        for counts in self.files.values():
            total.add(counts.get(fate, Count()))
        return total

    @property
    def deleted(self) -> Count:
        return self.total(Fate.DELETED)

    @property
    def waiting(self) -> Count:
        return self.total(Fate.WAITING)

    def _display(self) -> Display:
        verb = "would delete" if self.dry_run else "deleted"
        files, size = self.deleted.files, self.deleted.bytes
        retained = f"{counted(self.commits_retained, 'commit')} readable, {self.commits_given_up:,} given up"
        title = f"CleanupResult: {verb} {counted(files, 'file')} ({size:,} bytes), {retained}"
        rows = [
            (kind, fate.value, count.files, count.bytes)
            for kind, counts in self.files.items()
            for fate, count in counts.items()
        ]
        notes = [f"damaged: {item.path} {item.what}" for item in self.damaged]
        return Display(title, ("kind", "fate", "files", "bytes"), rows, notes=notes)
