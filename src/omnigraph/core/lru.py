"""A thread-safe LRU cache with a bound on the total cost of its values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


ENTRY_BYTES = 8_192
"""Memory of one array or table and its key beside its values, in Python and Arrow."""


def held_bytes(value: _Sized) -> int:
    """The memory of a cached array or table. A million of one value each need gigabytes, not megabytes."""
    return value.nbytes + ENTRY_BYTES


class Lru(Generic[Key, Value]):
    """A cache whose values together never cost more than ``limit``; each costs 1 without ``cost``."""

    def __init__(self, limit: int, cost: Callable[[Value], int] = _one) -> None:
        self._limit = limit
        self._cost = cost
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._held = 0
        self.evictions = 0
        """Values removed so far because the limit was reached."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> list[Value]:
        """All cached values. Does not count as use."""
        with self._lock:
            return list(self._values.values())

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def drop(self, key: Key) -> None:
        """Remove a value, if it is cached."""
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._held -= self._cost(old)

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._held = 0

    def put(self, key: Key, value: Value) -> None:
        """Cache a value. A value that costs more than the whole limit is not cached."""
        cost = self._cost(value)
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._held -= self._cost(old)
            if cost > self._limit:
                return
            self._values[key] = value
            self._held += cost
            while self._held > self._limit:
                self._held -= self._cost(self._values.popitem(last=False)[1])
                self.evictions += 1
