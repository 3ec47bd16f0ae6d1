"""What every operator of a query did: rows, time, what it read, and which way it chose."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from omnigraph.query.explain import describe
from omnigraph.query.ir import Operator
from omnigraph.storage.io_meter import IoMeter

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did. Time and reads include its inputs. Rows that were only counted were not made."""

    operator: str
    depth: int
    rows: int = 0
    seconds: float = 0.0
    requests: int = 0
    bytes: int = 0
    """Read from the tables' files; what was in memory or mapped from the cache is not counted."""
    remarks: tuple[str, ...] = ()
    """Which index or neighbour lists were used, and why."""


@dataclass
class Profiler:
    """Collects the profiles of one query, in the order of its tree. An operator that runs several times adds up."""

    entries: list[OperatorProfile] | None = None
    meter: IoMeter | None = None
    remarks: list[str] = field(default_factory=list)
    """What operators say of themselves while they run."""
    _places: dict[int, int] = field(default_factory=dict)
    _depth: int = 0

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
        requests, size = self._read()
        known = self.entries[place]
        self.entries[place] = replace(
            known,
            rows=known.rows + rows(result),
            seconds=known.seconds + seconds,
            requests=known.requests + requests - read[0],
            bytes=known.bytes + size - read[1],
            # Those of the inputs are already taken.
            remarks=tuple(dict.fromkeys((*known.remarks, *self.remarks[said:]))),
        )
        del self.remarks[said:]
        return result

    def _read(self) -> tuple[int, int]:
        return (0, 0) if self.meter is None else self.meter.read()

    def _place(self, operator: Operator | str) -> int:
        assert self.entries is not None
        if id(operator) not in self._places:
            self._places[id(operator)] = len(self.entries)
            shown = operator if isinstance(operator, str) else describe(operator)
            self.entries.append(OperatorProfile(shown, self._depth))
        return self._places[id(operator)]
