"""Exact text and vector search over whole tables.

Full text uses Lance's analyzer. Rows that no index covers are indexed in memory for their pin, so that an index
changes the latency of a search and never its result. Scores refer to the whole table: predicates of a query do not
change them. An index provides scores only if it covers exactly the live rows.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.errors import InputError
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.storage.index.indexes import Coverage, IndexKind

if TYPE_CHECKING:
    from omnigraph.exec.vectors import VectorCache
    from omnigraph.storage.index.text_index import TextIndex

TEXT_INDEXES_MAX = 32
"""Text columns indexed in memory by one process."""

DEFAULT_EDITS = 2
EDITS_MAX = 10
"""More edits than most words have letters; the Levenshtein automaton grows with both."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """Rows that an index does not cover, with an in-memory index of their texts."""

    rows: Rows
    index: TextIndex


@dataclass
class Searcher:
    """Full-text search with in-memory indexes cached per pin."""

    _indexes: Lru[tuple[str, int, str], TextIndex] = field(default_factory=lambda: Lru(TEXT_INDEXES_MAX))
    _rests: Lru[tuple[str, int, str], _Rest] = field(default_factory=lambda: Lru(TEXT_INDEXES_MAX))

    @cached_property
    def vectors(self) -> VectorCache:
        from omnigraph.exec.vectors import VectorCache

        return VectorCache()

    def _is_known(self, table: TableView, column: str) -> bool:
        return self._indexes.get((table.pin.location, table.pin.lance_version, column)) is not None

    def _index(self, table: TableView, column: str) -> TextIndex:
        key = (table.pin.location, table.pin.lance_version, column)
        known = self._indexes.get(key)
        if known is None:
            from omnigraph.storage.index.text_index import TextIndex

            known = TextIndex.build(table.live_column(column))
            self._indexes.put(key, known)
        return known

    def _rest(self, table: TableView, column: str, index: Coverage) -> _Rest:
        """The rows that an index does not cover, indexed in memory."""
        key = (table.pin.location, table.pin.lance_version, column)
        known = self._rests.get(key)
        if known is None:
            from omnigraph.storage.index.text_index import TextIndex

            rows = table.rows_in(index.uncovered)
            known = _Rest(rows, TextIndex.build(table.values(column, rows)))
            self._rests.put(key, known)
        return known

    def matching(self, table: TableView, search: ir.Search, uses: list[Coverage]) -> Rows | None:
        """Rows whose text contains a token of the query; None if the query is null."""
        assert isinstance(search.text, ir.Property)
        query = text_of(search.query)
        edits = edits_of(search)
        if query is None or edits is None:
            return None
        column = search.text.name
        index = table.index(column, IndexKind.TEXT)
        if index is None or self._is_known(table, column):
            return self._index(table, column).search(query, edits).rows
        from omnigraph.storage.index.reads import search_text

        uses.append(index)
        covered, _ = search_text(table.store, table.pin, column, query, edits)
        rest = self._rest(table, column, index)
        return np.concatenate([table.at_addresses(covered), rest.rows[rest.index.search(query, edits).rows]])

    def bm25(self, table: TableView, ranking: ir.Bm25, uses: list[Coverage]) -> tuple[Rows, npt.NDArray[np.float32]]:
        """Rows that contain a token of the query, and their BM25 scores."""
        assert isinstance(ranking.text, ir.Property)
        query = text_of(ranking.query)
        if query is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        column = ranking.text.name
        index = scoring_index(table, column)
        if index is not None:
            from omnigraph.storage.index.reads import search_text

            uses.append(index)
            addresses, scores = search_text(table.store, table.pin, column, query, 0)
            return table.layout.numbers_at(addresses), scores
        found = self._index(table, column).search(query, 0)
        return found.rows, found.scores


def scoring_index(table: TableView, column: str) -> Coverage | None:
    """The index that can provide scores of a column, if there is one."""
    index = table.index(column, IndexKind.TEXT)
    # With partial coverage or deleted rows, document frequencies and so the scores would differ.
    return index if index is not None and index.is_complete and not index.has_dead_rows else None


def text_of(expression: ir.Expr) -> str | None:
    """The text of a bound query; None if it is null."""
    assert isinstance(expression, ir.Constant)
    return expression.value if isinstance(expression.value, str) else None


def vector_of(expression: ir.Expr) -> tuple[float, ...] | None:
    """The vector of a bound query; None if it is null."""
    assert isinstance(expression, ir.Constant)
    if expression.value is None:
        return None
    assert isinstance(expression.value, tuple), "texts were embedded"
    return tuple(map(float, cast("tuple[float, ...]", expression.value)))


def ranked_property(ranking: ir.Nearest | ir.Bm25) -> tuple[str, str]:
    """The variable and property that a ranking reads."""
    if isinstance(ranking, ir.Nearest):
        return ranking.vector.variable, ranking.vector.name
    assert isinstance(ranking.text, ir.Property)
    return ranking.text.variable, ranking.text.name


def edits_of(search: ir.Search) -> int | None:
    """The edit distance that a bound search allows; None if it is null."""
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
    """L2 distances; null for a null vector."""
    from omnigraph.exec.vectors import measured

    missing = vectors.is_null().to_numpy(zero_copy_only=False)
    matrix = vectors.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(query))
    found = np.zeros(len(vectors), np.float32)
    found[~missing] = measured(matrix, np.array(query, np.float64))
    return pa.array(found, mask=missing)
