"""The result of ``repair``: the steps that it plans or has made, and the damage that is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One repair of one file: what is wrong, what is done about it, and what that means for the graph."""

    path: str
    what: str
    action: str
    effect: str
    run: Callable[[], None] = field(repr=False, compare=False)
    mends: tuple[str, ...] = field(default=(), repr=False)
    """Other paths that ``verify`` names because of the same damage."""


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """A file that cannot be repaired here, the commits that need it, and what a person can do."""

    path: str
    what: str
    commits: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The steps that were made, or without ``applied`` would be made, and what is left."""

    applied: bool
    steps: tuple[RepairStep, ...]
    unrepaired: tuple[Unrepaired, ...]

    @property
    def is_clean(self) -> bool:
        """No damage, or none that is left."""
        return not self.unrepaired and (self.applied or not self.steps)
