"""Row scores: vector distance, BM25, and reciprocal-rank fusion."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher, distances
from omnigraph.exec.shape import steps
from omnigraph.exec.tables import Rows, TableView, distinct
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Score
from omnigraph.storage.index.indexes import Coverage


def score(operator: Score, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> Frame:
    """The frame with its scores, without rows that lack a required score."""
    for number, ranking in enumerate(operator.rankings):
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
    name, column = _ranked(ranking)
    table, binding = frame.tables[name], frame.bindings[name]
    if isinstance(ranking, ir.Bm25):
        rows, scores = searcher.bm25(table, ranking, uses)
        every = np.full(table.size + 1, np.nan, np.float32)
        every[rows] = scores
        found = every[binding]
        return pa.array(found, mask=(binding < 0) | np.isnan(found))
    assert isinstance(ranking.query, ir.Constant)
    if ranking.query.value is None:
        return pa.nulls(frame.length, pa.float32())
    assert isinstance(ranking.query.value, tuple), "texts were embedded"
    query = tuple(float(number) for number in ranking.query.value if isinstance(number, int | float))
    if frame.holds(name, column):
        return distances(frame.values(name, column), query)
    nodes, positions = distinct(binding)
    return distances(table.values(column, nodes), query).take(pa.array(positions))


def _ranked(ranking: ir.Nearest | ir.Bm25) -> tuple[str, str]:
    """The variable and property that a ranking reads."""
    if isinstance(ranking, ir.Nearest):
        return ranking.vector.variable, ranking.vector.name
    assert isinstance(ranking.text, ir.Property)
    return ranking.text.variable, ranking.text.name


def _fused(ranking: ir.Rrf, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> pa.Array:
    """Reciprocal-rank fusion: the sum of 1 / (k + rank) over the arms; an arm that does not rank a node adds nothing.

    Ranks are over nodes of the first arm's variable: all rows of a node share its score.
    """
    assert isinstance(ranking.k, ir.Constant)
    assert isinstance(ranking.k.value, int)
    variable, _ = _ranked(ranking.arms[0])
    binding = frame.bindings[variable]
    nodes, positions = distinct(binding)
    total = np.zeros(len(nodes), np.float64)
    ranked = np.zeros(len(nodes), bool)
    for arm in ranking.arms:
        column = _scored(arm, frame, searcher, uses)
        known = pc.is_valid(column).to_numpy(zero_copy_only=False) & (binding >= 0)
        scores = column.to_numpy(zero_copy_only=False)[known].astype(np.float64)
        candidates = positions[known]
        order = _order(-scores if isinstance(arm, ir.Bm25) else scores, nodes[candidates], frame.tables[variable])
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


def _order(scores: npt.NDArray[np.float64], nodes: Rows, table: TableView) -> Rows:
    """Positions by ascending score; ids break ties and are read for tied rows only."""
    order = np.argsort(scores, kind="stable")
    equal = scores[order[1:]] == scores[order[:-1]]
    if not equal.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    level = order[tied]
    by_id = steps.ranks(table.values("id", nodes[level]))
    order[tied] = level[np.lexsort((by_id, scores[level]))]
    return order
