"""SQL over a snapshot: its tables by name, handed to the executor."""

from __future__ import annotations

import threading
from functools import partial

from omnigraph.engine.query.table_names import table_names
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.shape.result_rows import ResultRows, table_rows
from omnigraph.exec.sql import SqlParams, run_sql
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.tables.table_source import RowTest, TableSource


def run(
    snapshot: Snapshot,
    text: str,
    params: SqlParams | None,
    seconds_max: float | None,
    bytes_max: int,
    cancel: threading.Event | None,
) -> ResultRows:
    """The rows of one select statement."""
    tables = {
        name: TableSource(
            snapshot.store,
            snapshot.manifest.tables[entity.table_key],
            snapshot.table_schema(entity),
            _test(snapshot, entity),
        )
        for name, entity in table_names(snapshot.entities()).items()
    }
    rows = run_sql(tables, text, params, seconds_max=seconds_max, bytes_max=bytes_max, cancel=cancel)
    return table_rows(rows)


def _test(snapshot: Snapshot, entity: Entity) -> RowTest | None:
    """The data rules of the actor as a test of rows."""
    visible = snapshot.visible
    return None if visible is None else RowTest(visible.columns(entity), partial(visible.mask, entity))
