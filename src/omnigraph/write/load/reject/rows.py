"""Rejected rows of a load in this process: their records and reasons, in the order of the input.

A record is shown as it was given: it is looked up again in its source, or kept when it arrived. A row of a table that
conflicts with other rows is shown as it would have been stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID
from omnigraph.rows.rejected.reasons import EveryViolation, Reasons
from omnigraph.rows.violations import PartName, Place, Violation
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.keys import InputKeys
from omnigraph.write.load.reject.file import RejectFile, check_count, shown_rejections
from omnigraph.write.load.reject.stored_records import stored_records


@dataclass
class Rejection:
    """The rejected rows of one load. ``found`` is what the readers report into."""

    file: RejectFile | None
    """None for a preview."""
    found: EveryViolation = field(default_factory=EveryViolation)

    @property
    def count(self) -> int:
        return len(self.found.reasons)

    @property
    def shown(self) -> tuple[str, ...]:
        """The first rejected rows, for a preview."""
        return shown_rejections(self.rows())

    def rows(self) -> list[tuple[Place, Sequence[Violation]]]:
        """The rejected rows in the order of the input."""
        return sorted(self.found.reasons.items(), key=lambda row: _order(row[0]))


def _order(place: Place) -> tuple[int, int]:
    number = place.source.number if isinstance(place.source, PartName) else 0
    return number, place.line


@dataclass
class WrittenRejects:
    """The rejected rows of a load whose other rows are written: ``RejectedRows`` of the checks."""

    rejection: Rejection
    store: Store
    pins: Mapping[str, TablePin]
    keys: InputKeys
    written: Mapping[str, Sequence[WrittenRows]]
    records: dict[Place, object] = field(default_factory=dict)

    def begin(self) -> None:
        check_count(self.rejection.count)

    def take(self, found: Reasons) -> None:
        known = self.rejection.found
        for place, reasons in found.items():
            known.reasons.setdefault(place, []).extend(reasons)
        check_count(self.rejection.count)
        by_table: dict[str, list[Place]] = {}
        for place, reasons in found.items():
            if self.rejection.file is not None and place.source not in known.recalls:
                by_table.setdefault(reasons[0].table_key or "", []).append(place)
        for key, places in by_table.items():
            self._keep(key, places)

    def _keep(self, key: str, places: Sequence[Place]) -> None:
        """Keep the records of rows that cannot be looked up again."""
        table = self.keys.tables[key]
        rows = self.keys.rows_at(table, places)
        for row, record in stored_records(self.store, self.pins[key], table.entity, self.written[key], rows).items():
            if table.entity.key or rows[row].source in self.rejection.found.without_ids:
                data = record["data"]
                assert isinstance(data, dict)
                data.pop(ID, None)
            self.records[rows[row]] = record

    def write(self) -> None:
        rejection = self.rejection
        if rejection.file is None or not rejection.count:
            return
        recalled = self._recalled()
        rejection.file.write((place, reasons, self._record(place, recalled)) for place, reasons in rejection.rows())

    def _record(self, place: Place, recalled: Mapping[Place, object]) -> object:
        """The record as it was given, if that is known, else as it was stored."""
        if place in recalled:
            return recalled[place]
        kept = self.rejection.found.kept.get(place.source, {})
        return kept.get(place.line, self.records.get(place))

    def _recalled(self) -> dict[Place, object]:
        by_part: dict[str, list[int]] = {}
        for place in self.rejection.found.reasons:
            by_part.setdefault(place.source, []).append(place.line)
        recalls = self.rejection.found.recalls
        return {
            Place(part, line): record
            for part, lines in by_part.items()
            if part in recalls
            for line, record in recalls[part](lines).items()
        }
