"""Searching the indexes of a pinned table. Rows are given by their addresses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.storage.index.kinds import TRAITS
from omnigraph.storage.index.probes import Neighbours, Question, Words
from omnigraph.storage.index.text_index import analyzed_query
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.store import Store

Addresses = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.float32]


def search_text(store: Store, pin: TablePin, column: str, query: str, edits: int) -> tuple[Addresses, Scores]:
    """Covered rows that hold a token of the query, and their scores among all rows that the index knows."""
    analyzed = analyzed_query(query, edits)
    if not analyzed:
        return np.zeros(0, np.uint64), np.zeros(0, np.float32)
    found = _probe(store, pin, IndexKind.TEXT, column, Words(analyzed, edits))
    return found.column("_rowaddr").to_numpy(), found.column("_score").to_numpy()


def look_up(store: Store, pin: TablePin, row_filter: RowFilter) -> Addresses:
    """Rows that satisfy a filter on a column with an index."""
    with translated(f"the index of {pin.key} cannot be read", table=pin.key):
        # Lance chooses between value and n-gram index by the form of the filter; both are probed alike.
        found = _probe(store, pin, IndexKind.BTREE, "", row_filter)
    addresses: Addresses = found.column("_rowaddr").to_numpy()
    return addresses


def nearest_rows(
    store: Store, pin: TablePin, column: str, query: Sequence[float], count: int
) -> tuple[Addresses, pa.Array]:
    """About ``count`` of the closest rows, and their vectors. Rows that the index does not cover are all compared."""
    with translated(f"the vectors of {pin.key} cannot be searched", table=pin.key):
        found = _probe(store, pin, IndexKind.VECTOR, column, Neighbours(query, count))
    addresses: Addresses = found.column("_rowaddr").to_numpy()
    return addresses, found.column(column).combine_chunks()


def _probe(store: Store, pin: TablePin, kind: IndexKind, column: str, question: Question) -> pa.Table:
    return TRAITS[kind].probe(store.open(pin.location, pin.lance_version), column, question)
