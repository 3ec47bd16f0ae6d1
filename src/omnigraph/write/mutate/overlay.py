"""The state that a pattern reads: the captured one, with the pending changes of earlier statements as table versions.

The versions are detached, as those of a plan are: no reader can see them, and cleanup removes them. So the executor of
queries answers a pattern after a write exactly as it would after the commit.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.history.plan import WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violations
from omnigraph.storage.tables.scan import find_ids
from omnigraph.write.mutate.current import CurrentGraph, Pending, pending_rows
from omnigraph.write.staging import write_version
from omnigraph.write.violations import violation_error


def current_state(graph: CurrentGraph, keys: Collection[str]) -> ManifestState:
    """The captured state with pins of the pending changes of some tables."""
    tables = dict(graph.capture.state.tables)
    for key, pending in graph.pending.items():
        if key not in keys:
            continue
        pin = tables[key]
        replaced = set(find_ids(graph.store, pin, [*pending.rows, *pending.removed]).values())
        if not pending.rows and not replaced:
            continue
        rows = _storable(pending)
        staged = write_version(graph.store, pin, WriteMode.MODIFY, rows, replaced, (0, 0, 0))
        version = staged.version
        tables[key] = TablePin(key, pin.location, version.version, pin.table_version + 1, version.rows)
    return replace(graph.capture.state, tables=tables)


def _storable(pending: Pending) -> pa.Table:
    """Pending rows that a table can hold: values are checked, and vectors that are still to be made are zero."""
    rows, violations = pending_rows(pending), Violations()
    schema = table_schema(pending.entity)
    vectors = [field.name for field in schema if pa.types.is_fixed_size_list(field.type)]
    for batch in rows.to_batches():
        check_values(pending.entity, batch, lambda _: None, violations, vectors)
    if violations.total:
        raise violation_error(violations)
    for name in vectors:
        field = schema.field(name)
        if not field.nullable and rows.column(name).null_count:
            zero = pa.scalar([0.0] * field.type.list_size, field.type)
            filled = pc.if_else(pc.is_null(rows.column(name)), zero, rows.column(name))
            rows = rows.set_column(rows.schema.get_field_index(name), name, filled)
    return rows.cast(schema)
