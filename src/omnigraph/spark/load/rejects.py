"""Rows that a load sets aside instead of ending there: which, why, and the file they are written to.

A row is set aside for what is wrong with it alone, or for what it does not fit to: an id that is taken, a value that
must be unique, an end that is missing. What concerns no single row of the input still ends the load.
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
"""Finds lines of parts of an input: the record of each, or its text where it is none."""


def require_new(path: str) -> None:
    """Raise if rejected rows cannot be written there, before anything is read for them."""
    if is_remote(path):
        raise UsageError("rejected rows are written to a file on this machine", hint="name a local file", path=path)
    if os.path.lexists(path):
        raise AlreadyExistsError(f"{path!r} exists already", hint="name a new file for what is rejected", path=path)
    directory = os.path.dirname(os.path.abspath(path))
    if not os.access(directory, os.W_OK):
        raise UsageError(f"{path!r} cannot be written: no such directory, or not ours", path=path)


def given_again(whole: LoadInput, found: Reasons) -> Reasons:
    """Ids that are given again, said without the other row: its place is not known yet."""

    def said(violation: Violation) -> Violation:
        assert violation.table_key is not None
        name = whole.tables[violation.table_key].entity.name
        return replace(violation, message=f"{name} '{violation.entity_id}' is given again later: the last one counts")

    return {place: [said(violation) for violation in reasons] for place, reasons in found.items()}


@dataclass
class Rejects:
    """The rows that one load sets aside. ``count`` says how many, ``path`` where they are if there are any."""

    path: str
    read: Records
    rows: dict[tuple[int, int], list[Violation]] = field(default_factory=dict)
    """By number of the part and line in it."""

    @property
    def count(self) -> int:
        return len(self.rows)

    def take_parts(self, whole: LoadInput) -> None:
        """What tasks set aside."""
        for number, part in enumerate(whole.parts):
            self._take(((number, place.line), reasons) for place, reasons in part.rejected.items())

    def take_rows(self, whole: LoadInput, key: str, reasons: Mapping[int, list[Violation]]) -> None:
        """Rows of a table of the input, by address."""
        lines = whole.lines(key, list(reasons))
        self._take((lines[address], found) for address, found in reasons.items())

    def take_found(self, whole: LoadInput, found: Reasons) -> dict[str, list[int]]:
        """Rows whose places are tables of the input and addresses in them; which these are, by table."""
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
                hint="nothing was loaded; look at the input without reject_to",
                limit=limits.REJECTED_ROWS_MAX,
            )

    def write(self, whole: LoadInput) -> None:
        """Write the file, complete or not at all. Without rejected rows there is none."""
        if not self.rows:
            return
        wanted: dict[int, list[int]] = {}
        for number, line in sorted(self.rows):
            wanted.setdefault(number, []).append(line)
        records = self.read(whole, wanted)
        sources = Sources(whole.parts)
        unfinished = f"{self.path}.unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            for (number, line), reasons in sorted(self.rows.items()):
                place = sources.place(number, line)
                said = {
                    "file": place.source,
                    "line": place.line,
                    "reasons": [{"code": reason.code.value, "message": reason.message} for reason in reasons],
                    "record": records[number].get(line),
                }
                print(json.dumps(said, ensure_ascii=False), file=file)
        os.replace(unfinished, self.path)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """The file stays if the load in the block happens, or may have happened."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except BaseException:
            self.discard()
            raise

    def told(self, result: LoadResult) -> LoadResult:
        """The answer of the load, with what was rejected."""
        if result.repeated:
            self.discard()
            return result
        return replace(result, rejected=self.count)

    def discard(self) -> None:
        """Take the file away: the load it belongs to did not happen."""
        for path in (self.path, f"{self.path}.unfinished"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
