"""Counts of a change per table, as previews and results show them."""

from __future__ import annotations

from typing import Any

from omnigraph.write.merge.decide import TableCounts


def table_json(counts: TableCounts) -> dict[str, Any]:
    """The counts of one table."""
    return {
        "table_key": counts.key,
        "inserted": counts.inserted,
        "updated": counts.updated,
        "deleted": counts.deleted,
        "adopted": counts.adopted,
        "conflicts": counts.conflicts,
    }


def table_lines(tables: tuple[TableCounts, ...]) -> str:
    """The counts of all tables, one line each."""
    return "".join(f"\n  {item.key}: +{item.inserted:,} ~{item.updated:,} -{item.deleted:,}" for item in tables)
