"""Scores of rows: distances, text relevance, and their fusion by rank."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec import shape
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher, distances
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Score


def score(operator: Score, frame: Frame, searcher: Searcher) -> Frame:
    """The frame with its scores; rows that lack a required one are gone."""
    for number, ranking in enumerate(operator.rankings):
        if isinstance(ranking, ir.Rrf):
            column: pa.Array = _fused(ranking, frame, searcher)
        else:
            column = _scored(ranking, frame, searcher)
        frame = frame.with_column(f"#score{number}", column)
    keep = np.ones(frame.length, bool)
    for number, required in enumerate(operator.required):
        if required:
            keep &= pc.is_valid(frame.columns[f"#score{number}"]).to_numpy(zero_copy_only=False)
    return frame.where(keep)


def _scored(ranking: ir.Nearest | ir.Bm25, frame: Frame, searcher: Searcher) -> pa.Array:
    if isinstance(ranking, ir.Nearest):
        assert isinstance(ranking.query, ir.Constant)
        if ranking.query.value is None:
            return pa.nulls(frame.length, pa.float32())
        assert isinstance(ranking.query.value, tuple), "texts were embedded"
        query = tuple(float(number) for number in ranking.query.value if isinstance(number, int | float))
        return distances(frame.values(ranking.vector.variable, ranking.vector.name), query)
    assert isinstance(ranking.text, ir.Property)
    table, binding = frame.tables[ranking.text.variable], frame.bindings[ranking.text.variable]
    rows, scores = searcher.bm25(table, ranking)
    every = np.full(table.rows + 1, np.nan, np.float32)
    every[rows] = scores
    found = every[binding]
    return pa.array(found, mask=(binding < 0) | np.isnan(found))


def _fused(ranking: ir.Rrf, frame: Frame, searcher: Searcher) -> pa.Array:
    """Sum of 1 / (k + rank) over the arms; an entity that an arm does not rank gets nothing from it."""
    assert isinstance(ranking.k, ir.Constant)
    assert isinstance(ranking.k.value, int)
    entities = frame.bindings[_ranked_variable(ranking.arms[0])]
    total = np.zeros(frame.length, np.float64)
    ranked = np.zeros(frame.length, bool)
    for arm in ranking.arms:
        column = _scored(arm, frame, searcher)
        present = pc.is_valid(column).to_numpy(zero_copy_only=False)
        place = _places(column, entities, present, frame, descending=isinstance(arm, ir.Bm25))
        total[present] += 1.0 / (ranking.k.value + place[present] + 1)
        ranked |= present
    return pa.array(total, mask=~ranked)


def _ranked_variable(arm: ir.Nearest | ir.Bm25) -> str:
    if isinstance(arm, ir.Nearest):
        return arm.vector.variable
    assert isinstance(arm.text, ir.Property)
    return arm.text.variable


def _places(
    column: pa.Array, entities: Rows, present: npt.NDArray[np.bool_], frame: Frame, *, descending: bool
) -> Rows:
    """The rank of every row's entity, from 0, ties broken by id: rows of one entity share its best rank."""
    rows = np.flatnonzero(present)
    variable = next(name for name, binding in frame.bindings.items() if binding is entities)
    ids = frame.values(variable, "id").take(pa.array(rows))
    order = shape.sorted_rows([(column.take(pa.array(rows)), descending), (ids, False)], len(rows))
    ordered = entities[rows][order]
    groups, first = shape.group_codes([pa.array(ordered)], len(ordered))
    del first
    places = np.zeros(frame.length, np.int64)
    places[rows[order]] = groups
    return places
