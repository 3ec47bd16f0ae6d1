"""Entity counts of one table as JSON, as merges, reverts and previews of writes report them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.core.tables import TableCounts


def tables_json(tables: Iterable[TableCounts]) -> list[dict[str, Any]]:
    """The counts of every table that a write changes."""
    return [
        {
            "table_key": counts.key,
            "inserted": counts.inserted,
            "updated": counts.updated,
            "deleted": counts.deleted,
            "adopted": counts.adopted,
            "conflicts": counts.conflicts,
        }
        for counts in tables
    ]
