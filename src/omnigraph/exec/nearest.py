"""Top-k nearest neighbours through a vector index, with an exact fallback.

The index only proposes candidates; their distances are computed exactly, and they are sorted like all others. The
number of candidates is chosen so that enough survive the predicates. The executor computes every survivor's distance
if there are few survivors, if there is no index, or if the candidates do not prove the result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.frame import Frame
from omnigraph.exec.search import distances
from omnigraph.exec.tables import TAIL_ROWS_MAX, Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Score, Slice, Sort
from omnigraph.storage.index.indexes import Coverage, IndexKind
from omnigraph.storage.index.reads import nearest_rows

PROPOSED_MIN = 50
"""Minimum number of candidates. Distances in the index are quantised, so the best few are chosen from more."""

PROPOSED_FACTOR = 4
"""Candidates per requested row, before correcting for the share that survives."""

PROPOSED_MAX = 2_000
"""Maximum number of candidates; with more, that is if few survive, the index is not faster."""


def wanted_rows(operator: Slice) -> tuple[Score, int] | None:
    """The ranking by distance whose first rows suffice for the query, and their number."""
    sort = operator.input
    if operator.limit is None or not isinstance(sort, Sort) or not isinstance(sort.input, Score):
        return None
    first, scores = sort.keys[0], sort.input
    if not isinstance(first.expression, ir.ScoreColumn) or first.descending:
        return None
    required = [number for number, is_required in enumerate(scores.required) if is_required]
    is_nearest = isinstance(scores.rankings[first.expression.number], ir.Nearest)
    return (scores, operator.offset + operator.limit) if is_nearest and required == [first.expression.number] else None


def closest(operator: Score, frame: Frame, wanted: int, uses: list[Coverage]) -> Frame:
    """The frame without rows that cannot be among the closest; unchanged if the index cannot prove it."""
    ranking = operator.rankings[operator.required.index(True)]
    assert isinstance(ranking, ir.Nearest)
    assert isinstance(ranking.query, ir.Constant)
    variable, column = ranking.vector.variable, ranking.vector.name
    table = frame.tables[variable]
    index = table.index(column, IndexKind.VECTOR)
    if index is None or index.rows - index.covered_rows > TAIL_ROWS_MAX or not isinstance(ranking.query.value, tuple):
        return frame
    nodes = frame.bindings[variable]
    alive = np.zeros(table.size + 1, bool)
    alive[nodes] = True
    alive[-1] = False
    survivors = int(np.count_nonzero(alive))
    proposed = max(PROPOSED_MIN, PROPOSED_FACTOR * wanted * table.rows // max(survivors, 1))
    if survivors <= table.store.tuning.exact_nodes_max or proposed > PROPOSED_MAX:
        return frame
    query = tuple(float(number) for number in ranking.query.value if isinstance(number, int | float))
    chosen = _chosen(table, column, query, alive, wanted, proposed)
    if chosen is None:
        return frame
    uses.append(index)
    rows, vectors = chosen
    places = np.full(table.size + 1, -1)
    places[rows] = np.arange(len(rows))
    kept = frame.where(places[nodes] >= 0)
    return kept.with_values(variable, column, vectors.take(pa.array(places[kept.bindings[variable]])))


def _chosen(
    table: TableView, column: str, query: tuple[float, ...], alive: np.ndarray, wanted: int, proposed: int
) -> tuple[Rows, pa.Array] | None:
    """Surviving candidates with their vectors, if they provably contain the requested rows."""
    addresses, vectors = nearest_rows(table.store, table.pin, column, query, proposed)
    found = table.layout.numbers_at(addresses)
    order = np.argsort(found)
    order = order[alive[found[order]]]
    found, vectors = found[order], vectors.take(pa.array(order))
    if len(found) < wanted:
        return None
    measured = distances(vectors, query)
    if pc.any(pc.is_null(measured)).as_py():
        return None
    ordered = np.sort(measured.to_numpy(zero_copy_only=False))
    # If the last requested distance equals the largest candidate distance, rows outside may be equally close.
    return (found, vectors) if ordered[wanted - 1] < ordered[-1] else None
