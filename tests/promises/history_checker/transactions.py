"""Operations of clients and their results, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Version = int | None
"""The value of a register; None before its first write."""


class Outcome(StrEnum):
    """What the client was answered. Unknown: it was killed, or the answer was that the outcome is unknown."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction. Its reads come before its own writes; every written value is written once in the history.

    `began` and `ended` are moments of one clock; transactions of the same `domain` promise recency to each other.
    """

    name: str
    outcome: Outcome = Outcome.OK
    lists: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Lists it read."""
    appends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Values it appended, in order."""
    registers: Mapping[str, Version] = field(default_factory=dict)
    """Registers it read."""
    writes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Values it wrote, in order; the last one is its final value."""
    domain: str = ""
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that no serial order of the history explains."""

    kind: str
    """G0, G1a, G1b, G1c, G-single, G2 (with `-realtime` if time is needed to see it), or a broken list or register."""
    explanation: str
