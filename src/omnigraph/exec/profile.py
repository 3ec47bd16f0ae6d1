"""What every operator of a query, and every step of a write, did: rows, time, reads and writes, the way it chose."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from omnigraph.query.explain import describe
from omnigraph.query.ir import Operator
from omnigraph.storage.io_meter import IoMeter
from omnigraph.storage.store import Store

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did. Time, reads and writes include its inputs. Rows that were only counted were not made."""

    operator: str
    depth: int
    rows: int = 0
    seconds: float = 0.0
    requests: int = 0
    """Asked of the store for tables and manifests, to read or to write."""
    bytes: int = 0
    """Read from the tables' files; what was in memory or mapped from the cache is not counted."""
    written: int = 0
    """Bytes written to files of tables and manifests."""
    remarks: tuple[str, ...] = ()
    """Which index or neighbour lists were used, and why; what a step of a write did to which table."""


@dataclass
class Profiler:
    """Collects the profiles of one query or write, in the order of its tree. What runs several times adds up."""

    entries: list[OperatorProfile] | None = None
    meter: IoMeter | None = None
    remarks: list[str] = field(default_factory=list)
    """What operators say of themselves while they run."""
    _places: dict[int | str, int] = field(default_factory=dict)
    _depth: int = 0

    @classmethod
    def started(cls, store: Store) -> Profiler:
        """A profiler that collects, with its own meter."""
        return cls([], IoMeter(store))

    @property
    def is_on(self) -> bool:
        return self.entries is not None

    def say(self, remark: str) -> None:
        """Note something about the step that runs at this moment."""
        if self.is_on:
            self.remarks.append(remark)

    def timed(self, operator: Operator | str, run: Callable[[], Result], rows: Callable[[Result], int]) -> Result:
        """Run an operator, or a step with a name of its own, and note what it did."""
        if self.entries is None:
            return run()
        place = self._place(operator)
        said, read = len(self.remarks), self._read()
        self._depth += 1
        started = time.perf_counter()
        try:
            result = run()
        finally:
            self._depth -= 1
        seconds = time.perf_counter() - started
        requests, size, written = (now - before for now, before in zip(self._read(), read, strict=True))
        known = self.entries[place]
        self.entries[place] = replace(
            known,
            rows=known.rows + rows(result),
            seconds=known.seconds + seconds,
            requests=known.requests + requests,
            bytes=known.bytes + size,
            written=known.written + written,
            # Those of the inputs are already taken.
            remarks=tuple(dict.fromkeys((*known.remarks, *self.remarks[said:]))),
        )
        del self.remarks[said:]
        return result

    def _read(self) -> tuple[int, int, int]:
        if self.meter is None:
            return 0, 0, 0
        requests, size = self.meter.read()
        return requests + self.meter.write_requests, size, self.meter.written

    def _place(self, operator: Operator | str) -> int:
        assert self.entries is not None
        key = operator if isinstance(operator, str) else id(operator)
        if key not in self._places:
            self._places[key] = len(self.entries)
            shown = operator if isinstance(operator, str) else describe(operator)
            self.entries.append(OperatorProfile(shown, self._depth))
        return self._places[key]
