"""Protocols for the effects that pure packages need (time, ids, embeddings), and the default clock and id sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from random import SystemRandom
from typing import Literal, Protocol

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ids import encode_ulid, encode_ulids

_SYSTEM_RANDOM = SystemRandom()
"""The generator of ``secrets``, whose import loads more than the rest of this module."""


class Clock(Protocol):
    """A source of wall-clock time."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        ...


class IdSource(Protocol):
    """A source of unique, ascending ids."""

    def new_id(self) -> str:
        """A ULID greater than every earlier one of this source."""
        ...

    def new_ids(self, count: int) -> str:
        """``count`` ascending ULIDs, concatenated: a Python string per id costs more than the id itself."""
        ...


EmbeddingRole = Literal["query", "document"]
"""Some models embed search texts and documents differently."""


class Embedder(Protocol):
    """An embedding model: texts to vectors."""

    @property
    def model(self) -> str:
        """The name of the model, as ``@embed`` records it."""
        ...

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        """One vector of ``dimension`` numbers per text. Raises EmbeddingError."""
        ...


FindEmbedder = Callable[[], Embedder | None]
"""Finds the embedder on first use: that may read the environment, and fail."""


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1000


@dataclass(slots=True)
class UlidSource:
    """Monotonic ULIDs: within one millisecond, or when the clock steps back, the random part counts up."""

    clock: Clock = field(default_factory=SystemClock)
    _last: tuple[int, int] = (0, 0)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def new_id(self) -> str:
        return encode_ulid(*self._take(1))

    def new_ids(self, count: int) -> str:
        return encode_ulids(*self._take(count), count)

    def _take(self, count: int) -> tuple[int, int]:
        """Time and randomness of the first of ``count`` ids; the others count up from it."""
        with self._lock:
            milliseconds = self.clock.now_us() // 1000
            if milliseconds <= self._last[0]:
                milliseconds, randomness = self._last[0], self._last[1] + 1
            else:
                # The top bit stays free, so counting up cannot overflow into the time.
                randomness = _SYSTEM_RANDOM.getrandbits(79)
            self._last = (milliseconds, randomness + count - 1)
            return milliseconds, randomness


_PLACE_BITS = 24
_COUNT_BITS = 56


class PlacedUlids:
    """ULIDs for one part of an input whose parts are read in parallel.

    They sort by the time that all parts share, then by the ``place`` of the part, then by the order of minting. The ids
    of the whole input are therefore strictly ascending, and a load needs no check for duplicates among them.
    """

    def __init__(self, milliseconds: int, place: int) -> None:
        self._milliseconds = milliseconds
        # The top bit of the counter stays free for counting up. The start is random, so that the same place of another
        # input in the same millisecond does not mint the same ids.
        self._next = (place % 2**_PLACE_BITS << _COUNT_BITS) | _SYSTEM_RANDOM.getrandbits(_COUNT_BITS - 1)

    def new_ids(self, count: int) -> str:
        start, self._next = self._next, self._next + count
        return encode_ulids(self._milliseconds, start, count)
