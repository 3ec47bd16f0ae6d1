"""Progress of a long run: a line every few hundred cases, so that a run that is stopped leaves its counts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest


@dataclass
class Progress:
    """Prints past the capture of pytest: how many cases, how many differences, how many seconds."""

    capture: pytest.CaptureFixture[str]
    what: str
    every: int
    differences: int = 0
    shown: int = 0
    begun: float = field(default_factory=time.monotonic)

    def at(self, done: int, more: str = "") -> None:
        """Print a line if enough cases have passed since the last one."""
        if done - self.shown >= self.every:
            self.shown = done
            self.line(f"{done:,} {self.what}, {self.differences} differences, {self.seconds} s{more}")

    def differs(self, error: BaseException) -> None:
        """Print a difference at once, with what is needed to repeat it."""
        self.differences += 1
        self.line("\n".join([f"difference {self.differences}: {error!r}"[:2_000], *getattr(error, "__notes__", [])]))

    @property
    def seconds(self) -> int:
        return round(time.monotonic() - self.begun)

    def line(self, text: str) -> None:
        with self.capture.disabled():
            print(text, flush=True)
