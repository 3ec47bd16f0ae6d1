"""Remote embedding: batches, retries with exponential backoff, rate limiting and a deadline."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed.providers import Provider
from omnigraph.embed.request import Request, Transport
from omnigraph.embed.vectors import unit_vector
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable

DOUBLINGS_MAX = 10
"""Doublings of the backoff; after them it stays constant."""


def _http_transport() -> Transport:
    from omnigraph.embed.transport import HttpTransport

    return HttpTransport()


@dataclass(frozen=True, slots=True)
class Patience:
    """Timeouts, retries and rate limit. Times are in milliseconds; a deadline or rate of 0 means no limit."""

    timeout_ms: int = 30_000
    attempts: int = 4
    backoff_ms: int = 200
    deadline_ms: int = 60_000
    requests_per_minute: int = 0


@dataclass
class Pace:
    """Rate limiter: the time at which the next request may start.

    It takes no lock. Two threads may start together, which a quota per minute tolerates.
    """

    next_at: float = -math.inf

    def reserve(self, now: float, requests_per_minute: int) -> float:
        """Seconds to wait before a request."""
        if not requests_per_minute:
            return 0.0
        start = max(now, self.next_at)
        self.next_at = start + 60 / requests_per_minute
        return start - now


@dataclass(frozen=True)
class RemoteEmbedder:
    """An embedder that calls an HTTP service. The deadline applies to one call of ``embed`` with any number of texts.

    Waiting for ``requests_per_minute`` does not count towards the deadline: the service is not slow then.
    """

    provider: Provider
    base_url: str
    model: str
    key: str = field(repr=False)
    patience: Patience = Patience()
    transport: Transport = field(default_factory=_http_transport, repr=False)
    monotonic: Callable[[], float] = field(default=time.monotonic, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    pace: Pace = field(default_factory=Pace, repr=False, compare=False)

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> list[tuple[float, ...]]:
        deadline = self.monotonic() + self.patience.deadline_ms / 1000 if self.patience.deadline_ms else None
        found: list[tuple[float, ...]] = []
        for start in range(0, len(texts), self.provider.texts_max):
            part = texts[start : start + self.provider.texts_max]
            waited = self._wait_for_turn()
            deadline = None if deadline is None else deadline + waited
            request = self.provider.request(self.base_url, self.key, self.model, part, dimension, role)
            answer = self._ask(request, deadline)
            found += [
                unit_vector(numbers, dimension, self.model) for numbers in self.provider.vectors(answer, len(part))
            ]
        return found

    def _wait_for_turn(self) -> float:
        waiting = self.pace.reserve(self.monotonic(), self.patience.requests_per_minute)
        if waiting:
            self.sleep(waiting)
        return waiting

    def _ask(self, request: Request, deadline: float | None) -> object:
        failed: EmbeddingUnavailable | None = None
        for usual in self._pauses():
            pause = max(usual, _wanted_pause(failed))
            left = None if deadline is None else deadline - self.monotonic()
            if left is not None and left <= pause:
                raise self._too_late(failed) from failed
            if pause:
                self.sleep(pause)
                left = None if left is None else left - pause
            timeout = self.patience.timeout_ms / 1000
            try:
                return self.transport(request, timeout if left is None else min(timeout, left))
            except EmbeddingUnavailable as error:
                failed = error
        assert failed is not None, "there is at least one attempt"
        raise failed

    def _pauses(self) -> Iterator[float]:
        """Seconds before each attempt: zero, then the backoff, doubling."""
        yield 0.0
        for number in range(max(self.patience.attempts, 1) - 1):
            yield self.patience.backoff_ms / 1000 * 2 ** min(number, DOUBLINGS_MAX)

    def _too_late(self, failed: EmbeddingError | None) -> EmbeddingUnavailable:
        reason = f": {failed.message}" if failed is not None else ""
        return EmbeddingUnavailable(
            f"model {self.model!r} returned no vector within {self.patience.deadline_ms} ms{reason}",
            hint="increase OMNIGRAPH_EMBED_DEADLINE_MS, or set it to 0 for no deadline",
            model=self.model,
            deadline_ms=self.patience.deadline_ms,
        )


def _wanted_pause(failed: EmbeddingUnavailable | None) -> float:
    """The pause that the service requested by ``Retry-After``, in seconds."""
    wanted = 0 if failed is None else failed.facts.get("retry_after_s", 0)
    return float(wanted) if isinstance(wanted, int) else 0.0
