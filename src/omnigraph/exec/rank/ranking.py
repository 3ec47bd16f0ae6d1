"""Row scores: vector distance, BM25, and reciprocal-rank fusion."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.frame import Frame
from omnigraph.exec.rank.order import score_order
from omnigraph.exec.search import Searcher, distances, ranked_property, vector_of
from omnigraph.exec.shape import steps
from omnigraph.exec.tables import distinct
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Score
from omnigraph.storage.index.indexes import Coverage


def score(operator: Score, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> Frame:
    """The frame with its scores, without rows that lack a required score."""
    for number, ranking in enumerate(operator.rankings):
        if f"#score{number}" in frame.columns:
            # Computed while the best rows were chosen.
            continue
        if isinstance(ranking, ir.Rrf):
            column = _fused(ranking, frame, searcher, uses)
        else:
            column = _scored(ranking, frame, searcher, uses)
        frame = frame.with_column(f"#score{number}", column)
    keep = np.ones(frame.length, bool)
    for number, required in enumerate(operator.required):
        if required:
            keep &= pc.is_valid(frame.columns[f"#score{number}"]).to_numpy(zero_copy_only=False)
    return frame.where(keep)


def _scored(ranking: ir.Nearest | ir.Bm25, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> pa.Array:
    """One score per row, computed once per distinct node."""
    name, column = ranked_property(ranking)
    table, binding = frame.tables[name], frame.bindings[name]
    if isinstance(ranking, ir.Bm25):
        rows, scores = searcher.bm25(table, ranking, uses)
        every = np.full(table.size + 1, np.nan, np.float32)
        every[rows] = scores
        found = every[binding]
        return pa.array(found, mask=(binding < 0) | np.isnan(found))
    query = vector_of(ranking.query)
    if query is None:
        return pa.nulls(frame.length, pa.float32())
    if frame.holds(name, column):
        return distances(frame.values(name, column), query)
    nodes, positions = distinct(binding)
    return distances(table.values(column, nodes), query).take(pa.array(positions))


def _fused(ranking: ir.Rrf, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> pa.Array:
    """Reciprocal-rank fusion: the sum of 1 / (k + rank) over the arms; an arm that does not rank a node adds nothing.

    Ranks are over nodes of the first arm's variable: all rows of a node share its score.
    """
    assert isinstance(ranking.k, ir.Constant)
    assert isinstance(ranking.k.value, int)
    variable, _ = ranked_property(ranking.arms[0])
    binding = frame.bindings[variable]
    nodes, positions = distinct(binding)
    total = np.zeros(len(nodes), np.float64)
    ranked = np.zeros(len(nodes), bool)
    for arm in ranking.arms:
        column = _scored(arm, frame, searcher, uses)
        known = pc.is_valid(column).to_numpy(zero_copy_only=False) & (binding >= 0)
        scores = column.to_numpy(zero_copy_only=False)[known].astype(np.float64)
        candidates = positions[known]
        order = score_order(-scores if isinstance(arm, ir.Bm25) else scores, nodes[candidates], frame.tables[variable])
        in_order = candidates[order]
        if len(candidates) < 2 or np.bincount(candidates).max() == 1:
            best, places = in_order, np.arange(len(in_order))
        else:
            # A node with several rows is ranked once, by its first row.
            groups, first = steps.group_codes([pa.array(in_order)], len(in_order))
            best, places = in_order[first], groups[first]
        total[best] += 1.0 / (ranking.k.value + places + 1)
        ranked[best] = True
    return pa.array(total[positions], mask=~ranked[positions])
