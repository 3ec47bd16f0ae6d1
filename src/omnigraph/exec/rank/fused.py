"""The best rows of a reciprocal-rank fusion of vector distance and BM25, without ranking all rows.

A row that is not among the first ``n`` of any arm has a score of at most ``arms / (k + n + 1)``, and each of the first
``w`` rows of one arm has at least ``1 / (k + w)``. So for ``n = arms * (k + w) - k`` the best ``w`` rows are among the
first ``n`` of each arm: for k = 60 and 10 rows, among 160 candidates.

The ranks of the candidates are first known within bounds, because distances are approximate. Only candidates whose
best possible score reaches the ``w``-th worst possible score are ranked exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Mask, is_ascending, sorted_set
from omnigraph.exec.frame import Frame
from omnigraph.exec.rank.nearest import alive_rows
from omnigraph.exec.rank.order import score_order
from omnigraph.exec.search import Searcher, ranked_property, vector_of
from omnigraph.exec.tables import Rows, TableView
from omnigraph.exec.vectors import Doubles, Floats, Vectors
from omnigraph.query import expressions as ir
from omnigraph.storage.index.indexes import Coverage

FIRST_MAX = 10_000
"""Largest number of first rows of an arm; with more, ranking all rows is as fast."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One ranking of the rows of a table: a smaller value is better, equal values are ranked by id."""

    values: Floats
    """By row number; infinite for rows without a rank."""
    slack: float
    """Values may be off by at most this."""
    exact: Callable[[Rows], Floats]
    """The exact values of some rows."""
    ranked: Rows
    """The rows with a rank."""
    ordered: Doubles
    """The values of the rows with a rank, ascending."""

    @classmethod
    def of(cls, values: Floats, slack: float, exact: Callable[[Rows], Floats]) -> Arm:
        ranked = np.flatnonzero(np.isfinite(values))
        return cls(values, slack, exact, ranked, np.sort(values[ranked]).astype(np.float64))

    def first(self, count: int) -> Rows:
        """The first rows and perhaps some more."""
        if len(self.ordered) <= count:
            return self.ranked
        return np.flatnonzero(self.values <= self.ordered[count - 1] + 2 * self.slack)

    def bounds(self, rows: Rows) -> tuple[Doubles, Doubles]:
        """The least and the largest possible rank of some rows, from 1; infinite without a rank."""
        values = self.values[rows].astype(np.float64)
        least = np.searchsorted(self.ordered, values - 2 * self.slack, side="left") + np.float64(1)
        largest = np.searchsorted(self.ordered, values + 2 * self.slack, side="right").astype(np.float64)
        unranked = np.isinf(values)
        least[unranked] = largest[unranked] = np.inf
        return least, largest

    def ranks(self, rows: Rows, table: TableView) -> Doubles:
        """The ranks of some rows, from 1; infinite without a rank.

        Rows with a clearly smaller value are counted; those with about the same value are measured and sorted.
        """
        found = np.full(len(rows), np.inf)
        is_ranked = np.isfinite(self.values[rows])
        ranked = rows[is_ranked]
        near = self._near(ranked)
        order = score_order(self.exact(near).astype(np.float64), near, table)
        place = np.empty(len(near), np.int64)
        place[order] = np.arange(len(near))
        below = self.values[ranked].astype(np.float64) - 2 * self.slack
        counted = np.searchsorted(np.sort(self.values[near]).astype(np.float64), below)
        found[is_ranked] = (
            place[np.searchsorted(near, ranked)] - counted + np.searchsorted(self.ordered, below) + np.int64(1)
        )
        return found

    def _near(self, rows: Rows) -> Rows:
        """The rows, ascending, that may be on either side of one of these rows, and perhaps some more."""
        values = self.values[self.ranked]
        is_near = np.zeros(len(values), bool)
        for value in np.unique(self.values[rows]):
            # A row too many does no harm, one too few does: the difference may round.
            is_near |= np.abs(values - value) <= 3 * self.slack
        return self.ranked[is_near]


def fused_best(
    ranking: ir.Rrf, score: str, frame: Frame, wanted: int, searcher: Searcher, uses: list[Coverage]
) -> Frame:
    """The frame without rows that cannot be among the best, with scores; unchanged if that cannot be proved."""
    variable, _ = ranked_property(ranking.arms[0])
    table, nodes = frame.tables[variable], frame.bindings[variable]
    assert isinstance(ranking.k, ir.Constant)
    assert isinstance(ranking.k.value, int)
    k = ranking.k.value
    first = len(ranking.arms) * (k + wanted) - k
    if len(nodes) <= table.store.tuning.exact_nodes_max or first > min(FIRST_MAX, len(nodes)):
        return frame
    if any(ranked_property(arm)[0] != variable for arm in ranking.arms) or nodes[0] < 0 or not is_ascending(nodes):
        # Ranks are over nodes: rows that repeat a node, or are about several variables, share them.
        return frame
    held = {
        arm.vector.name: searcher.vectors.get(table, arm.vector.name, eager=len(nodes) * 2 > table.size)
        for arm in ranking.arms
        if isinstance(arm, ir.Nearest)
    }
    alive = alive_rows(table, nodes)
    arms = list[Arm]()
    for ranked in ranking.arms:
        if isinstance(ranked, ir.Bm25):
            arms.append(_text_arm(ranked, table, alive, searcher, uses))
            continue
        vectors = held[ranked.vector.name]
        arm = None if vectors is None else _vector_arm(ranked, vectors, alive)
        if arm is None:
            return frame
        arms.append(arm)
    rows, bounds = _best(arms, k, first, wanted, table)
    scores = np.zeros(len(rows))
    for arm, (least, largest) in zip(arms, bounds, strict=True):
        ranks, is_open = least.copy(), least != largest
        if is_open.any():
            ranks[is_open] = arm.ranks(rows[is_open], table)
        scores += 1.0 / (k + ranks)
    places = rows if alive is None else np.searchsorted(nodes, rows)
    return frame.take(places).with_column(score, pa.array(scores))


def _vector_arm(ranking: ir.Nearest, vectors: Vectors, alive: Mask | None) -> Arm | None:
    """The ranking by distance: about, by the squares. None if distances are too large for that."""
    query = vector_of(ranking.query)
    if query is None:
        return Arm.of(np.full(vectors.size, np.inf, np.float32), 0, lambda rows: np.zeros(len(rows), np.float32))
    point = np.array(query, np.float64)
    bounds = vectors.squares(point, alive)
    if not np.isfinite(bounds.slack):
        return None
    return Arm.of(bounds.squares, bounds.slack, lambda rows: vectors.distances(rows, point))


def _text_arm(ranking: ir.Bm25, table: TableView, alive: Mask | None, searcher: Searcher, uses: list[Coverage]) -> Arm:
    rows, scores = searcher.bm25(table, ranking, uses)
    values = np.full(table.size, np.inf, np.float32)
    values[rows] = -scores
    if alive is not None:
        values[~alive[:-1]] = np.inf
    return Arm.of(values, 0, lambda near: values[near])


def _best(
    arms: list[Arm], k: int, first: int, wanted: int, table: TableView
) -> tuple[Rows, list[tuple[Doubles, Doubles]]]:
    """The rows that may be among the best, ascending, and their least and largest possible rank in every arm."""
    firsts = [arm.first(first) for arm in arms]
    rows = sorted_set(np.concatenate(firsts))
    bounds = list[tuple[Doubles, Doubles]]()
    least, most = np.zeros(len(rows)), np.zeros(len(rows))
    for arm, own in zip(arms, firsts, strict=True):
        best, worst = arm.bounds(rows)
        if not arm.slack:
            # Many short texts have the same score; measuring them costs nothing.
            places = np.searchsorted(rows, own)
            best[places] = worst[places] = arm.ranks(own, table)
        bounds.append((best, worst))
        # Divisions and sums round alike for every row, so the exact score is between the two.
        least += 1.0 / (k + worst)
        most += 1.0 / (k + best)
    if len(rows) <= wanted:
        return rows, bounds
    enough = np.partition(least, len(least) - wanted)[len(least) - wanted]
    kept = np.flatnonzero(most >= enough)
    return rows[kept], [(best[kept], worst[kept]) for best, worst in bounds]
