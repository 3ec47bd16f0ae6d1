"""Violations and records of rejected rows: the part of rejection that runs on executors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.json_lines import Malformed, blocks, parse_line
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Kind, Place, Violation, Violations
from omnigraph.spark.load.splits import FileSplit, SplitLines

Reasons = dict[Place, list[Violation]]
"""All violations of rows, by place."""


class EveryViolation(Violations):
    """Keeps every violation of a row, by place, without sampling. Violations without a place are only counted."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: Reasons = {}

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
    return without_lines(rows, source, violations.reasons) if isinstance(violations, EveryViolation) else rows


def without_lines(rows: TypedRows, source: str, reasons: Reasons) -> TypedRows:
    """The rows whose lines have no violation."""
    lines = [place.line for place in reasons if place.source == source]
    if not lines:
        return rows
    is_good = pc.invert(pc.is_in(rows.lines, pa.array(lines, rows.lines.type)))
    return replace(rows, batch=rows.batch.filter(is_good), lines=rows.lines.filter(is_good))


def records_of_lines(split: FileSplit, lines: Sequence[int]) -> dict[int, object]:
    """Records of a split by line: the text of a line that is not a record, and none for one that is too long."""
    wanted = set(lines)
    found: dict[int, object] = {}
    for block in blocks(SplitLines(split), lambda line: None, is_start=split.start == 0):
        if wanted.isdisjoint(range(block.first_line, block.first_line + block.lines)):
            continue
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if number in wanted:
                try:
                    found[number] = parse_line(line)
                except Malformed:
                    found[number] = line.decode(errors="replace")
    return found
