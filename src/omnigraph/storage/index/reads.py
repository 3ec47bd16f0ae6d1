"""Asking the indexes of a pinned table. Rows are given by their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.index.building import VECTORS_PER_PARTITION
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec, coverage_of
from omnigraph.storage.index.text_index import asked_for, match_text
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.filters import Condition, condition_filter
from omnigraph.storage.tables.store import Store

Addresses = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.float32]

EFFORT = 4
"""Nodes that a search of a vector graph keeps in view, per row that is asked for. With 2, it found 94 % of the ten
closest among random vectors, which is the hardest case."""

PROBED_BYTES = 64 * 1024 * 1024
"""Rounded vectors that a search looks at, in bytes: all of them in most tables, the closest ones in large tables."""

PROBES_MIN = 8
"""Partitions that a search looks at, however wide the vectors are."""


def known_indexes(store: Store, pin: TablePin) -> Mapping[tuple[str, IndexKind], Coverage]:
    """The indexes that a table has, by column and kind. Reads manifests only, once per version."""
    key = (pin.location, pin.lance_version)
    known: Mapping[tuple[str, IndexKind], Coverage] | None = store.indexes.get(key)
    if known is None:
        dataset = store.open(*key)
        specs = [IndexSpec(name, kind) for name in dataset.schema.names for kind in IndexKind]
        found = coverage_of(dataset, specs) if dataset.describe_indices() else []
        known = {(item.spec.column, item.spec.kind): item for item in found if item.covered_rows}
        store.indexes.put(key, known)
    return known


def search_text(store: Store, pin: TablePin, column: str, query: str, edits: int) -> tuple[Addresses, Scores]:
    """Covered rows that hold a token of the query, and their scores among all rows that the index knows."""
    asked = asked_for(query, edits)
    if not asked:
        return np.zeros(0, np.uint64), np.zeros(0, np.float32)
    dataset = store.open(pin.location, pin.lance_version)
    found = match_text(dataset, column, asked, edits, with_row_address=True, fast_search=True)
    return found.column("_rowaddr").to_numpy(), found.column("_score").to_numpy()


def look_up(store: Store, pin: TablePin, condition: Condition) -> Addresses:
    """Rows that satisfy a condition on a column with an index."""
    dataset = store.open(pin.location, pin.lance_version)
    with translated(f"the index of {pin.key} cannot be read", table=pin.key):
        found = dataset.scanner(columns=[], filter=condition_filter(condition), with_row_address=True).to_table()
    addresses: Addresses = found.column("_rowaddr").to_numpy()
    return addresses


def nearest_rows(
    store: Store, pin: TablePin, column: str, query: Sequence[float], count: int
) -> tuple[Addresses, pa.Array]:
    """About that many of the closest rows, and their vectors. Rows that the index does not cover are all looked at."""
    dataset = store.open(pin.location, pin.lance_version)
    probes = max(PROBES_MIN, PROBED_BYTES // (VECTORS_PER_PARTITION * len(query)))
    nearest = {
        "column": column,
        "q": np.array(query, np.float32),
        "k": count,
        "ef": EFFORT * count,
        "nprobes": probes,
    }
    with translated(f"the vectors of {pin.key} cannot be searched", table=pin.key):
        scanner = dataset.scanner(columns=[column, "_distance"], nearest=nearest, with_row_address=True)
        found = scanner.to_table().combine_chunks()
    addresses: Addresses = found.column("_rowaddr").to_numpy()
    return addresses, found.column(column).combine_chunks()
