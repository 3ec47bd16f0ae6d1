"""Latencies of the last hour by route, for the page: one histogram a minute, kept in a ring.

The metrics count since the server was started; a person who looks at a slow server wants to see now. Routes are
templates, a closed set, so memory is bounded. All calls come from the event loop.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

MINUTES: Final = 60
SECONDS_MAX: Final = tuple(0.001 * 2 ** (step / 2) for step in range(33))
"""Upper bounds of the buckets, from a millisecond to a minute; each is 1.4 times the one before."""


@dataclass(frozen=True, slots=True)
class RouteLatency:
    """Requests of one route in the last hour. ``errors`` are answers of 500 and above; times are in seconds."""

    route: str
    count: int
    errors: int
    p50: float
    p95: float
    p99: float


@dataclass(slots=True)
class _Counts:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(SECONDS_MAX) + 1))
    errors: int = 0

    def add(self, other: _Counts) -> None:
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.errors += other.errors


class Latencies:
    """Requests by minute and route. ``now`` is a clock in seconds that only goes forward."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._minutes: deque[tuple[int, dict[str, _Counts]]] = deque(maxlen=MINUTES)

    def ended(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        minute = int(self._now() // 60)
        if not self._minutes or self._minutes[-1][0] != minute:
            self._minutes.append((minute, {}))
        counts = self._minutes[-1][1].setdefault(route, _Counts())
        counts.buckets[bisect_left(SECONDS_MAX, seconds)] += 1
        counts.errors += status >= 500

    def summary(self) -> list[RouteLatency]:
        """The routes of the last hour, those with most requests first."""
        first = int(self._now() // 60) - MINUTES
        total: dict[str, _Counts] = {}
        for minute, routes in self._minutes:
            for route, counts in routes.items() if minute > first else ():
                total.setdefault(route, _Counts()).add(counts)
        found = [_latency(route, counts) for route, counts in total.items()]
        return sorted(found, key=lambda item: (-item.count, item.route))


def _latency(route: str, counts: _Counts) -> RouteLatency:
    shares = [_quantile(counts.buckets, share) for share in (0.5, 0.95, 0.99)]
    return RouteLatency(route, sum(counts.buckets), counts.errors, *shares)


def _quantile(buckets: Sequence[int], share: float) -> float:
    """The upper bound of the bucket that holds the quantile."""
    left = share * sum(buckets)
    for bound, count in zip((*SECONDS_MAX, SECONDS_MAX[-1]), buckets, strict=True):
        left -= count
        if left <= 0:
            return bound
    return SECONDS_MAX[-1]
