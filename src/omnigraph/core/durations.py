"""Lengths of time as people write them: ``45s``, ``30m``, ``12h``, ``7d``, ``2w``."""

from __future__ import annotations

import re
from datetime import timedelta

from omnigraph.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_TEXT = re.compile(r"(\d+)\s*([smhdw])")

Duration = str | timedelta
"""A length of time as a caller names it."""


def duration_us(given: Duration) -> int:
    """Microseconds of a length of time."""
    if isinstance(given, timedelta):
        if given < timedelta(0):
            raise _unclear(given)
        return given // timedelta(microseconds=1)
    found = _TEXT.fullmatch(given.strip())
    if found is None:
        raise _unclear(given)
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000


def _unclear(given: Duration) -> UsageError:
    return UsageError(f"{given!r} is not a length of time", hint="write 45s, 30m, 12h, 7d or 2w")
