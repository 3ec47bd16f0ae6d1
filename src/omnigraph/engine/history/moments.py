"""Moments in the history of a graph, as callers name them."""

from __future__ import annotations

from datetime import datetime

from omnigraph.core.temporal import datetime_to_milliseconds, parse_datetime


def moment_us(at: str | datetime) -> int | None:
    """A time in microseconds, or None if ``at`` names a commit. A text means the end of its millisecond."""
    if isinstance(at, datetime):
        return datetime_to_milliseconds(at) * 1000 + at.microsecond % 1000
    parsed = parse_datetime(at)
    return None if parsed is None else parsed * 1000 + 999
