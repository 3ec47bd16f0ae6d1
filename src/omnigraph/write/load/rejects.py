"""The checks of a large load for callers that set rows aside: every row that breaks a rule is told, not only the first.

They are the checks of ``write.load.checks``. What exists already is one violation among others here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from omnigraph.rows.violations import ViolationCode
from omnigraph.write.load.checks import GraphChecks
from omnigraph.write.load.keys import KeyTable
from omnigraph.write.load.plan import exists_violation

EVERY = sys.maxsize
"""As many samples as there are."""


@dataclass
class RejectingChecks(GraphChecks):
    """Reports every row. ``violations`` has to keep them all."""

    samples_max: int = EVERY

    def refuse_existing(self, table: KeyTable) -> None:
        rows = self.keys.run(
            f"SELECT k0, source, line FROM {table.name} t SEMI JOIN {table.found_name} f ON t.k0 = f.id"
        )
        found = (exists_violation(table.entity, id_, self.keys.place(at, line)) for id_, at, line in rows)
        if rows:
            self.violations.add_group((ViolationCode.DUPLICATE_ID, table.entity.table_key, None), len(rows), found)
