"""Rejected rows of a load: their violations, and the file that they are written to.

A row is rejected for an invalid value, or for a conflict with other rows: a duplicate id, a duplicate unique value, a
dangling end of an edge. A violation that no single input row causes still fails the load.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.engine.results import LoadResult
from omnigraph.errors import AlreadyExistsError, LimitExceeded, OutcomeUnknown, UsageError
from omnigraph.rows.violations import Violation
from omnigraph.spark.cluster import limits
from omnigraph.spark.load.input import LoadInput, Sources
from omnigraph.spark.load.rejected_rows import Reasons
from omnigraph.storage.objects.uri import is_remote

Records = Callable[[LoadInput, Mapping[int, Sequence[int]]], Mapping[int, Mapping[int, object]]]
"""Finds the records of lines, by slice and line; the text of a line that is not a record."""


def require_new(path: str) -> None:
    """Raise if rejected rows cannot be written to a path; called before any input is read."""
    if is_remote(path):
        raise UsageError(
            "rejected rows can only be written to a local file", hint="use a path on this machine", path=path
        )
    if os.path.lexists(path):
        raise AlreadyExistsError(f"{path!r} already exists", hint="use a new file for rejected rows", path=path)
    directory = os.path.dirname(os.path.abspath(path))
    if not os.access(directory, os.W_OK):
        raise UsageError(f"cannot write {path!r}: its directory does not exist or is not writable", path=path)


def as_superseded(whole: LoadInput, found: Reasons) -> Reasons:
    """Violations of duplicate ids, reworded without the place of the other row, which is not known yet."""

    def reworded(violation: Violation) -> Violation:
        assert violation.table_key is not None
        name = whole.tables[violation.table_key].entity.name
        return replace(
            violation, message=f"{name} '{violation.entity_id}' occurs again later: the last occurrence wins"
        )

    return {place: [reworded(violation) for violation in reasons] for place, reasons in found.items()}


@dataclass
class Rejects:
    """The rejected rows of one load. They are written to ``path``, unless there are none."""

    path: str
    read: Records
    rows: dict[tuple[int, int], list[Violation]] = field(default_factory=dict)
    """Violations by slice and line in it."""

    @property
    def count(self) -> int:
        return len(self.rows)

    def take_slices(self, whole: LoadInput) -> None:
        """Add the rows that tasks rejected."""
        for number, input_slice in enumerate(whole.slices):
            self._take(((number, place.line), reasons) for place, reasons in input_slice.rejected.items())

    def take_rows(self, whole: LoadInput, key: str, reasons: Mapping[int, list[Violation]]) -> None:
        """Add rows of one input table, by address."""
        lines = whole.lines(key, list(reasons))
        self._take((lines[address], found) for address, found in reasons.items())

    def take_found(self, whole: LoadInput, found: Reasons) -> dict[str, list[int]]:
        """Add rows whose places are input tables and addresses; returns the addresses by table."""
        by_table: dict[str, dict[int, list[Violation]]] = {}
        for place, reasons in found.items():
            by_table.setdefault(place.source, {})[place.line] = reasons
        for key, rows in by_table.items():
            self.take_rows(whole, key, rows)
        return {key: list(rows) for key, rows in by_table.items()}

    def _take(self, found: Iterable[tuple[tuple[int, int], list[Violation]]]) -> None:
        for row, reasons in found:
            self.rows.setdefault(row, []).extend(reasons)
        if len(self.rows) > limits.REJECTED_ROWS_MAX:
            raise LimitExceeded(
                f"more than {limits.REJECTED_ROWS_MAX:,} rows would be rejected",
                hint="nothing was loaded; load without reject_to to see the violations",
                limit=limits.REJECTED_ROWS_MAX,
            )

    def write(self, whole: LoadInput) -> None:
        """Write the file atomically, unless no row was rejected."""
        if not self.rows:
            return
        wanted: dict[int, list[int]] = {}
        for number, line in sorted(self.rows):
            wanted.setdefault(number, []).append(line)
        records = self.read(whole, wanted)
        sources = Sources(whole.slices)
        unfinished = f"{self.path}.unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            for (number, line), reasons in sorted(self.rows.items()):
                place = sources.place(number, line)
                line_record = {
                    "file": place.source,
                    "line": place.line,
                    "reasons": [{"code": reason.code.value, "message": reason.message} for reason in reasons],
                    "record": records[number].get(line),
                }
                print(json.dumps(line_record, ensure_ascii=False), file=file)
        os.replace(unfinished, self.path)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the file if the load in the block succeeds or its outcome is unknown; otherwise delete it."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except BaseException:
            self.discard()
            raise

    def counted(self, result: LoadResult) -> LoadResult:
        """The result of the load with the number of rejected rows."""
        # A repeated load made no commit of its own, so the file would describe nothing.
        if result.repeated:
            self.discard()
            return result
        return replace(result, rejected=self.count)

    def discard(self) -> None:
        """Delete the file, because its load made no commit."""
        for path in (self.path, f"{self.path}.unfinished"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
