"""Durations as users write them: ``45s``, ``30m``, ``12h``, ``7d``, ``2w``."""

from __future__ import annotations

import re
from datetime import timedelta

from omnigraph.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_TEXT = re.compile(r"(\d+)\s*([smhdw])")

Duration = str | timedelta
"""A duration as text or as ``timedelta``."""


def duration_us(given: Duration) -> int:
    """A duration in microseconds. Raises UsageError for any other text and for negative durations."""
    if isinstance(given, timedelta):
        if given < timedelta(0):
            raise _unclear(given)
        return given // timedelta(microseconds=1)
    found = _TEXT.fullmatch(given.strip())
    if found is None:
        raise _unclear(given)
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000


def _unclear(given: Duration) -> UsageError:
    return UsageError(f"{given!r} is not a duration", hint="write 45s, 30m, 12h, 7d or 2w")
