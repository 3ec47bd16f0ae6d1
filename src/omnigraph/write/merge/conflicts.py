"""Conflicts as an Arrow table, and as the error of a merge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.errors import Hint, MergeConflicts
from omnigraph.history.conflicts import MergeConflict

SHOWN_MAX = 10

CONFLICTS_SCHEMA = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("property", pa.string()),
        pa.field("base", pa.json_()),
        pa.field("source", pa.json_()),
        pa.field("target", pa.json_()),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""Values are JSON texts, because they have many types."""


def conflicts_table(conflicts: Sequence[MergeConflict]) -> pa.Table:
    """One row per conflict."""
    rows = [
        {
            "table": conflict.table,
            "id": conflict.id,
            "kind": conflict.kind.value,
            "property": conflict.property,
            "base": _text(conflict.base),
            "source": _text(conflict.source),
            "target": _text(conflict.target),
            "message": conflict.message,
        }
        for conflict in conflicts
    ]
    return pa.Table.from_pylist(rows, schema=CONFLICTS_SCHEMA)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def conflicts_error(conflicts: Sequence[MergeConflict], what: str) -> MergeConflicts:
    """The error with all conflicts; its text shows the first ones."""
    shown = "".join(f"\n  - {conflict}" for conflict in conflicts[:SHOWN_MAX])
    more = f"\n  ... and {len(conflicts) - SHOWN_MAX} more" if len(conflicts) > SHOWN_MAX else ""
    number = "1 conflict" if len(conflicts) == 1 else f"{len(conflicts)} conflicts"
    return MergeConflicts(
        f"{what}: {number}; nothing was changed{shown}{more}",
        hint=_settling(conflicts[0]),
        conflicts=conflicts,
        table=conflicts_table(conflicts),
    )


def _settling(conflict: MergeConflict) -> Hint:
    """The ways to settle conflicts, with a resolution of the first one as an example."""
    wanted = {"type": conflict.type_name(), "id": conflict.id, "property": conflict.property, "take": "source"}
    if not conflict.kind.is_of_rows:
        wanted["kind"] = conflict.kind.value
    example = json.dumps({key: value for key, value in wanted.items() if value is not None}, ensure_ascii=False)
    return Hint(
        f'settle them with policy="source", or one by one: resolutions=[{example}]',
        f"settle them with --policy source, or one by one: --resolve '{example}'",
    )
