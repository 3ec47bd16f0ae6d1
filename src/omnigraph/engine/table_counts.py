"""Counts of a change per table, as previews and results show them."""

from __future__ import annotations

from omnigraph.core.tables import TableCounts


def table_lines(tables: tuple[TableCounts, ...]) -> str:
    """The counts of all tables, one line each."""
    return "".join(f"\n  {item.key}: +{item.inserted:,} ~{item.updated:,} -{item.deleted:,}" for item in tables)
