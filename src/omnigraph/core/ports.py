"""What the pure parts need from the world, as protocols, and the ordinary implementations of time and ids."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from omnigraph.core.ids import encode_ulid, encode_ulids


class Clock(Protocol):
    """Tells the time."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        ...


class IdSource(Protocol):
    """Mints ids."""

    def new_id(self) -> str:
        """A ULID, larger than every one this source gave before."""
        ...

    def new_ids(self, count: int) -> str:
        """That many of them in ascending order, written one after the other: a text for each costs more than the id."""
        ...


EmbeddingRole = Literal["query", "document"]
"""Some models embed what is searched for and what is searched in differently."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model(self) -> str:
        """The name of the model, as ``@embed`` records it."""
        ...

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        """One vector of that many numbers per text; raises EmbeddingError."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1000


@dataclass(slots=True)
class UlidSource:
    """ULIDs by the clock; within one millisecond the random part counts up, so the order of minting is kept."""

    clock: Clock = field(default_factory=SystemClock)
    _last: tuple[int, int] = (0, 0)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def new_id(self) -> str:
        return encode_ulid(*self._take(1))

    def new_ids(self, count: int) -> str:
        return encode_ulids(*self._take(count), count)

    def _take(self, count: int) -> tuple[int, int]:
        """Time and randomness of the first of some ids; the others count up from it."""
        with self._lock:
            milliseconds = self.clock.now_us() // 1000
            if milliseconds <= self._last[0]:
                milliseconds, randomness = self._last[0], self._last[1] + 1
            else:
                # The top bit stays free, so counting up cannot overflow into the time.
                randomness = secrets.randbits(79)
            self._last = (milliseconds, randomness + count - 1)
            return milliseconds, randomness


_PLACE_BITS = 24
_COUNT_BITS = 56


class PlacedUlids:
    """ULIDs for one of many parts of an input that are made side by side.

    They sort by the moment that all parts share, then by the ``place`` of the part, then by the order of minting. So
    those of a whole input only grow, and nobody has to look for one that is there twice.
    """

    def __init__(self, milliseconds: int, place: int) -> None:
        self._milliseconds = milliseconds
        # The top bit of what is counted stays free. It is random, so that the same place of another input does no harm.
        self._next = (place % 2**_PLACE_BITS << _COUNT_BITS) | secrets.randbits(_COUNT_BITS - 1)

    def new_ids(self, count: int) -> str:
        start, self._next = self._next, self._next + count
        return encode_ulids(self._milliseconds, start, count)
