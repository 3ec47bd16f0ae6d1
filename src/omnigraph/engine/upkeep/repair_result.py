"""The result of ``repair``: the steps that it plans or has made, and the damage that is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph.core.display import Display, Displayed, counted


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


@dataclass(frozen=True, slots=True, repr=False)
class RepairReport(Displayed):
    """The steps that were made, or without ``applied`` would be made, and what is left."""

    applied: bool
    steps: tuple[RepairStep, ...]
    unrepaired: tuple[Unrepaired, ...]

    @property
    def is_clean(self) -> bool:
        """No damage, or none that is left."""
        return not self.unrepaired and (self.applied or not self.steps)

    def _display(self) -> Display:
        done = "made" if self.applied else "planned"
        left = counted(len(self.unrepaired), "file")
        title = f"RepairReport: {counted(len(self.steps), 'step')} {done}, {left} cannot be repaired"
        rows = [(step.path, step.what, step.action, step.effect) for step in self.steps]
        rows += [(item.path, item.what, "none", item.advice) for item in self.unrepaired]
        lines = [f"{path} {what}: {action}; {effect}" for path, what, action, effect in rows]
        return Display(title, ("file", "damage", "action", "effect"), rows, lines=lines)
