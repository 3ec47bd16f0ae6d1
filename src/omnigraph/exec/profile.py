"""What every operator of a query did: rows and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from omnigraph.query.explain import describe
from omnigraph.query.ir import Operator

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did; ``seconds`` include its inputs. Rows that were only counted were not made."""

    operator: str
    depth: int
    rows: int
    seconds: float


@dataclass
class Profiler:
    """Collects the profiles of one query, in the order of its tree. An operator that runs several times adds up."""

    entries: list[OperatorProfile] | None = None
    _places: dict[int, int] = field(default_factory=dict)
    _depth: int = 0

    def timed(self, operator: Operator, run: Callable[[], Result], rows: Callable[[Result], int]) -> Result:
        """Run an operator and note what it did."""
        if self.entries is None:
            return run()
        place = self._place(operator)
        self._depth += 1
        started = time.perf_counter()
        try:
            result = run()
        finally:
            self._depth -= 1
        seconds = time.perf_counter() - started
        known = self.entries[place]
        self.entries[place] = replace(known, rows=known.rows + rows(result), seconds=known.seconds + seconds)
        return result

    def _place(self, operator: Operator) -> int:
        assert self.entries is not None
        if id(operator) not in self._places:
            self._places[id(operator)] = len(self.entries)
            self.entries.append(OperatorProfile(describe(operator), self._depth, 0, 0.0))
        return self._places[id(operator)]
