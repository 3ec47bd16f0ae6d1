"""From bound rows to result rows: grouping, ordering, deduplication, partitioning."""
