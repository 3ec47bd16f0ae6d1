"""Rows that have arrived and are not yet validated: the records of those that are rejected are kept as given."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pyarrow.compute as pc

from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.rejected.reasons import EveryViolation
from omnigraph.rows.rejected.records import record_of
from omnigraph.rows.typed_rows import PlacedBatch, TypedRows
from omnigraph.rows.violations import Place


class ArrivedRows:
    """Buffers arrived rows until they are validated, and keeps the records of rejected ones by line.

    A source need not give the same rows when it is read again, so they cannot be looked up later.
    """

    def __init__(self, entity: Entity, violations: EveryViolation) -> None:
        self.violations = violations
        self.records: dict[int, object] = {}
        self._entity = entity
        self._held: list[PlacedBatch] = []
        self._seen = len(violations.reasons)
        self._waiting: list[Place] = []

    def noting(self, batches: Iterable[PlacedBatch]) -> Iterator[PlacedBatch]:
        for placed in batches:
            if placed.batch.num_rows:
                self._held.append(placed)
            yield placed

    def settling(self, rows: Iterable[TypedRows]) -> Iterator[TypedRows]:
        """Pass the rows through. When the consumer requests the next batch, it has validated the previous one."""
        for typed in rows:
            yield typed
            if len(typed.lines):
                self._settle(typed.lines[-1].as_py())
        if self._held:
            self._settle(_last(self._held[-1]))

    def _settle(self, line: int) -> None:
        reasons = self.violations.reasons
        found = [*self._waiting, *itertools.islice(reasons, self._seen, None)]
        self._seen = len(reasons)
        self._waiting = [place for place in found if place.line > line]
        for number in sorted({place.line for place in found if place.line <= line}):
            for placed in self._held:
                # The line of a malformed row has a violation and no row.
                at = pc.index(placed.lines, number).as_py() if _last(placed) >= number else -1
                if at >= 0:
                    # The reader may know what the source had in place of a hole.
                    self.records.setdefault(number, record_of(self._entity, placed.batch.slice(at, 1)))
                    break
        self._held = [placed for placed in self._held if _last(placed) > line]


def _last(placed: PlacedBatch) -> int:
    line: int = placed.lines[-1].as_py()
    return line
