"""Indexes of a table version as Lance describes them, including those that other programs built. Reads manifests only.

Maintenance and queries use ``indexes``, which knows the indexes of the schema by their names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from omnigraph.core.tables import TablePin
from omnigraph.storage.index.indexes import fragment_rows, lance_indexes
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class DescribedIndex:
    """One index: its columns, its coverage and its size."""

    name: str
    kind: str
    type_url: str
    columns: tuple[str, ...]
    details: str
    """JSON, such as the tokenizer of a text index."""
    metric: str | None
    """The distance of a vector index."""
    segments: tuple[str, ...]
    indexed_rows: int
    rows: int
    size_bytes: int | None
    created_at: datetime | None
    format_version: int


def described_indexes(store: Store, pin: TablePin) -> list[DescribedIndex]:
    """All indexes of a version, by name."""
    with translated(f"the indexes of {pin.key} cannot be read", table=pin.key):
        dataset = store.open(pin.location, pin.lance_version)
        rows = fragment_rows(dataset)
        found: list[DescribedIndex] = []
        for item in sorted(lance_indexes(dataset), key=lambda item: str(item.name)):
            covered = {number for segment in item.segments for number in segment.fragment_ids}
            created = [segment.created_at for segment in item.segments if segment.created_at is not None]
            found.append(
                DescribedIndex(
                    item.name,
                    item.index_type,
                    item.type_url,
                    tuple(item.field_names),
                    json.dumps(item.details),
                    item.details.get("metric_type"),
                    tuple(segment.uuid for segment in item.segments),
                    sum(count for number, count in rows.items() if number in covered),
                    sum(rows.values()),
                    item.total_size_bytes,
                    max(created, default=None),
                    max((segment.index_version for segment in item.segments), default=0),
                )
            )
    return found
