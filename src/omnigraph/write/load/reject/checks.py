"""Rejection of rows of a load until the others are valid. The key database identifies rows by place.

The checks are those of ``write.load.checks``, except that every row is reported, and that an existing id is a violation
of its row, not an error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.rejected.reasons import EveryViolation, Reasons
from omnigraph.rows.violations import Place, Violation
from omnigraph.schema.catalog import Catalog
from omnigraph.write import limits
from omnigraph.write.load.checks import GraphChecks, settle_duplicates
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.mode import LoadMode

EVERY = sys.maxsize
"""No limit of samples."""


@dataclass
class RejectingChecks(GraphChecks):
    """Reports every row. ``violations`` must keep all samples."""

    samples_max: int = EVERY

    def refuse_existing(self, table: KeyTable) -> None:
        self.add_existing(table, self.keys.number(f"SELECT count(*) FROM {table.found_name}"))


class RejectedRows(Protocol):
    """Receiver of rejected rows."""

    def begin(self) -> None:
        """Take the rows that were rejected while they were read."""
        ...

    def take(self, found: Reasons) -> None:
        """Take rows that conflict with others, before they are removed from the keys."""
        ...

    def write(self) -> None:
        """Write the file of rejected rows; another attempt of the write may replace it."""
        ...


@dataclass
class Rejecting:
    """Rejects rows until the others are valid, or only violations remain that no single row causes.

    Rejected rows stay rejected, even if another writer has made them valid in the meantime.
    """

    keys: InputKeys
    mode: LoadMode
    rows: RejectedRows
    is_settled: bool = False

    def run(self, catalog: Catalog, committed: CommittedKeys) -> None:
        """Reject rows that break a constraint in one state of the graph."""
        if not self.is_settled:
            self.rows.begin()
            found = EveryViolation()
            settle_duplicates(self.keys, self.mode, found, EVERY, drops_reported=False)
            entities = {key: table.entity for key, table in self.keys.tables.items()}
            self._take(as_superseded(entities, found.reasons))
            self.is_settled = True
        for _ in range(limits.REJECT_ROUNDS_MAX):
            found = EveryViolation()
            RejectingChecks(self.keys, catalog, committed, self.mode, found).run()
            if not found.reasons:
                break
            self._take(found.reasons)
        self.rows.write()

    def _take(self, found: Reasons) -> None:
        self.rows.take(found)
        by_table: dict[str, list[Place]] = {}
        for place, reasons in found.items():
            assert reasons[0].table_key is not None
            by_table.setdefault(reasons[0].table_key, []).append(place)
        for key, places in by_table.items():
            self.keys.set_aside(self.keys.tables[key], places)


def as_superseded(entities: Mapping[str, Entity], found: Reasons) -> Reasons:
    """Violations of duplicate ids, reworded without the place of the other row, which may be rejected too."""

    def reworded(violation: Violation) -> Violation:
        assert violation.table_key is not None
        name = entities[violation.table_key].name
        return replace(
            violation, message=f"{name} '{violation.entity_id}' occurs again later: the last occurrence wins"
        )

    return {place: [reworded(violation) for violation in reasons] for place, reasons in found.items()}
