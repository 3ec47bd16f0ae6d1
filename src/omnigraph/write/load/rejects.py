"""Checks of a large load with rejects: every row that breaks a constraint is reported, not only samples.

They are the checks of ``write.load.checks``, except that an existing id is a violation of its row, not an error.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from omnigraph.rows.violations import ViolationCode
from omnigraph.write.load.checks import GraphChecks
from omnigraph.write.load.keys import KeyTable
from omnigraph.write.load.plan import exists_violation

EVERY = sys.maxsize
"""No limit of samples."""


@dataclass
class RejectingChecks(GraphChecks):
    """Reports every row. ``violations`` must keep all samples."""

    samples_max: int = EVERY

    def refuse_existing(self, table: KeyTable) -> None:
        rows = self.keys.run(
            f"SELECT k0, source, line FROM {table.name} t SEMI JOIN {table.found_name} f ON t.k0 = f.id"
        )
        found = (exists_violation(table.entity, id_, self.keys.place(at, line)) for id_, at, line in rows)
        if rows:
            self.violations.add_group((ViolationCode.DUPLICATE_ID, table.entity.table_key, None), len(rows), found)
