"""All violations of rejected rows, by place, and the rows that are left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Kind, Place, Violation, Violations

Reasons = dict[Place, list[Violation]]
"""All violations of rows, by place."""


Recall = Callable[[Collection[int]], Mapping[int, object]]
"""Finds the records at some lines of a part of the input; the text of a line that is not a record."""


class EveryViolation(Violations):
    """Keeps every violation of a row, by place, without sampling. Violations without a place are only counted."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: Reasons = {}
        self.recalls: dict[str, Recall] = {}
        """By part of the input: its records, looked up again."""
        self.kept: dict[str, dict[int, object]] = {}
        """By part of the input: records by line, for parts that cannot be looked up again."""
        self.copies: list[IO[bytes]] = []
        """Temporary files that the recalls read, to be closed when the load ends."""
        self.without_ids: set[str] = set()
        """Parts of the input whose rows give no ids."""

    def close(self) -> None:
        """Delete the temporary files."""
        for copy in self.copies:
            copy.close()

    def add(self, violation: Violation) -> None:
        if not self._keeps(violation):
            super().add(violation)

    def add_group(self, kind: Kind, count: int, violations: Iterable[Violation]) -> None:
        found = list(violations)
        others = [violation for violation in found if not self._keeps(violation)]
        left = count - len(found) + len(others)
        if left:
            super().add_group(kind, left, others)

    def _keeps(self, violation: Violation) -> bool:
        if violation.place is None:
            return False
        self.reasons.setdefault(violation.place, []).append(violation)
        return True


def without_rows(rows: TypedRows, source: str, violations: Violations) -> TypedRows:
    """The valid rows if the load rejects rows; otherwise all rows."""
    if not isinstance(violations, EveryViolation):
        return rows
    good = without_lines(rows, source, violations.reasons)
    # A hole of a single row has a place. One of a whole column has none, and fails the load.
    return replace(good, has_holes=good.has_holes and violations.total > 0)


def without_lines(rows: TypedRows, source: str, reasons: Reasons) -> TypedRows:
    """The rows whose lines have no violation."""
    lines = [place.line for place in reasons if place.source == source]
    if not lines:
        return rows
    return rows.filter(pc.invert(pc.is_in(rows.lines, pa.array(lines, rows.lines.type))))
