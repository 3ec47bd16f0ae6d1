"""What ``cleanup`` answers: commits by what became of them, files and bytes by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.manifest.refs import Damaged
from omnigraph.storage.upkeep.sweep import Count, Fate
from omnigraph.write.upkeep.cleanup import CleanupOutcome, CleanupSettings


@dataclass(frozen=True)
class CleanupResult:
    """What a cleanup did, or after a dry run what it would do."""

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

    def to_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "keep_versions": self.keep,
            "older_than_secs": None if self.older_than_us is None else self.older_than_us // 1_000_000,
            "grace_secs": self.grace_us // 1_000_000,
            "commits": {
                "retained": self.commits_retained,
                "given_up": self.commits_given_up,
                "waiting": self.commits_waiting,
                "gone": self.commits_gone,
            },
            "files": {kind: _fates_json(counts) for kind, counts in self.files.items()},
            "total": _fates_json({fate: self.total(fate) for fate in Fate}),
            "damaged": [item.to_json() for item in self.damaged],
        }


def _fates_json(counts: Mapping[Fate, Count]) -> dict[str, Any]:
    return {
        fate.name.lower(): {
            "files": count.files,
            "bytes": count.bytes,
            **({"until": count.until_us} if count.until_us else {}),
        }
        for fate, count in sorted(counts.items(), key=lambda item: item[0].name)
    }
