"""Admission of writes: bounds on what one actor has in flight, exact because one process admits.

A permit is held until the work ends, not until its answer is read.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.server.http.refusals import Refusal

INFLIGHT_VARIABLE: Final = "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX"
BYTES_VARIABLE: Final = "OMNIGRAPH_PER_ACTOR_BYTES_MAX"
INFLIGHT_MAX: Final = 16
"""Writes that one actor has in flight."""
BYTES_MAX: Final = 4 * 2**30
"""Estimated bytes of the writes that one actor has in flight."""
RETRY_SECONDS: Final = 60
ANONYMOUS: Final = "anonymous"
"""The actor that callers of an open server are counted under."""


class Admission:
    """Counts the writes of each actor."""

    def __init__(self, inflight_max: int = INFLIGHT_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._inflight_max = inflight_max
        self._bytes_max = bytes_max
        self._inflight: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Admission:
        """The bounds of the environment, or the defaults."""
        return cls(
            _number(environment, INFLIGHT_VARIABLE, INFLIGHT_MAX), _number(environment, BYTES_VARIABLE, BYTES_MAX)
        )

    @contextmanager
    def admitted(self, actor: str | None, size: int) -> Iterator[None]:
        """Hold a permit; raises Refusal with status 429, which names the bound that was hit."""
        name = actor or ANONYMOUS
        self._enter(name, size)
        try:
            yield
        finally:
            self._leave(name, size)

    def _enter(self, name: str, size: int) -> None:
        with self._lock:
            if self._inflight[name] >= self._inflight_max:
                raise _full(f"actor '{name}' has {self._inflight_max} requests in flight, which is the limit")
            if self._bytes[name] + size > self._bytes_max:
                raise _full(f"requests in flight of actor '{name}' would exceed {self._bytes_max} bytes")
            self._inflight[name] += 1
            self._bytes[name] += size

    def _leave(self, name: str, size: int) -> None:
        with self._lock:
            self._inflight[name] -= 1
            self._bytes[name] -= size
            if not self._inflight[name]:
                # Actors come from tokens, but a token may be any of many: what is idle is not kept.
                del self._inflight[name], self._bytes[name]


def _full(text: str, retry_seconds: int = RETRY_SECONDS) -> Refusal:
    return Refusal(
        429,
        text,
        "too_many_requests",
        "too_many_requests",
        retryable=True,
        headers={"retry-after": str(retry_seconds)},
    )


def busy(text: str) -> Refusal:
    """A refusal of a server whose queue of reads is full: short work, so a client may soon come again."""
    return _full(text, 1)


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{name} is {text!r}, which is no whole number above 0", hint=f"write {default}, for example")
    return int(text)
