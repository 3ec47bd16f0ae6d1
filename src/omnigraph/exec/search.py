"""Text and vector search over whole tables, exact.

Full text uses Lance's own analyzer. A column without an index is indexed in memory for its pin, so that an index
changes how long a search takes and never what it finds. Scores are those of the whole table: filters of a query do
not change them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.errors import InputError
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.storage.text_index import TextIndex

TEXT_INDEXES_MAX = 32
"""Text columns indexed in memory by one process."""

DEFAULT_EDITS = 2
EDITS_MAX = 10
"""More edits than most words have letters; the automaton of a word grows with both."""


@dataclass
class Searcher:
    """Finds rows by text, and measures vectors."""

    _indexes: OrderedDict[tuple[str, int, str], TextIndex] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _index(self, table: TableView, column: str) -> TextIndex:
        key = (table.pin.location, table.pin.lance_version, column)
        with self._lock:
            known = self._indexes.get(key)
            if known is not None:
                self._indexes.move_to_end(key)
                return known
        built = TextIndex.build(table.live_column(column))
        with self._lock:
            self._indexes[key] = built
            while len(self._indexes) > TEXT_INDEXES_MAX:
                self._indexes.popitem(last=False)
        return built

    def matching(self, table: TableView, search: ir.Search) -> Rows | None:
        """Rows whose text holds a token of the query; None if what is searched for is null."""
        assert isinstance(search.text, ir.Property)
        query = _text(search.query)
        edits = _edits(search)
        if query is None or edits is None:
            return None
        return self._index(table, search.text.name).search(query, edits).rows

    def bm25(self, table: TableView, ranking: ir.Bm25) -> tuple[Rows, npt.NDArray[np.float32]]:
        """Rows that hold a token of the query, and their relevance."""
        assert isinstance(ranking.text, ir.Property)
        query = _text(ranking.query)
        if query is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        found = self._index(table, ranking.text.name).search(query, 0)
        return found.rows, found.scores


def _text(expression: ir.Expr) -> str | None:
    assert isinstance(expression, ir.Constant)
    return expression.value if isinstance(expression.value, str) else None


def _edits(search: ir.Search) -> int | None:
    if search.kind is not ir.SearchKind.FUZZY:
        return 0
    if search.edits is None:
        return DEFAULT_EDITS
    assert isinstance(search.edits, ir.Constant)
    edits = search.edits.value
    if edits is None:
        return None
    if not isinstance(edits, int) or not 0 <= edits <= EDITS_MAX:
        raise InputError(f"`fuzzy` takes 0 to {EDITS_MAX} edits, not {edits}")
    return edits


def distances(vectors: pa.Array, query: tuple[float, ...]) -> pa.Array:
    """L2 distances; null where there is no vector."""
    missing = vectors.is_null().to_numpy(zero_copy_only=False)
    matrix = vectors.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(query)).astype(np.float64)
    measured = np.zeros(len(vectors), np.float64)
    measured[~missing] = np.sqrt(((matrix - np.array(query, np.float64)) ** 2).sum(axis=1))
    return pa.array(measured.astype(np.float32), mask=missing)
