"""Top-k nearest neighbours: exact over vectors in memory, or through a vector index with an exact fallback.

An index only proposes candidates; their distances are computed exactly, and they are sorted like all others. The
number of candidates is chosen so that enough survive the predicates. The executor computes every survivor's distance
if there are few survivors, if there is no index, or if the candidates do not prove the result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.adjacency import Mask, is_ascending
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher, distances, vector_of
from omnigraph.exec.tables import TAIL_ROWS_MAX, Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.storage.index.indexes import Coverage, IndexKind
from omnigraph.storage.index.reads import nearest_rows

PROPOSED_MIN = 50
"""Minimum number of candidates. Distances in the index are quantised, so the best few are chosen from more."""

PROPOSED_FACTOR = 4
"""Candidates per requested row, before correcting for the share that survives."""

PROPOSED_MAX = 2_000
"""Maximum number of candidates; with more, that is if few survive, the index is not faster."""


def closest(
    ranking: ir.Nearest, score: str, frame: Frame, wanted: int, searcher: Searcher, uses: list[Coverage]
) -> Frame:
    """The frame without rows that cannot be among the closest; unchanged if that cannot be proved."""
    variable, column = ranking.vector.variable, ranking.vector.name
    table, query = frame.tables[variable], vector_of(ranking.query)
    if query is None:
        return frame
    nodes = frame.bindings[variable]
    alive = alive_rows(table, nodes)
    survivors = len(nodes) if alive is None else int(np.count_nonzero(alive))
    if survivors <= table.store.tuning.exact_nodes_max:
        return frame
    index = table.index(column, IndexKind.VECTOR)
    if index is not None and index.rows - index.covered_rows > TAIL_ROWS_MAX:
        index = None
    vectors = searcher.vectors.get(table, column, eager=index is None and alive is None)
    found = None if vectors is None else vectors.nearest(np.array(query, np.float64), alive, wanted)
    if found is not None:
        rows, measured = found
        kept, places = _kept(frame, nodes, rows, table, alive)
        return kept.with_column(score, pa.array(measured[places]))
    proposed = max(PROPOSED_MIN, PROPOSED_FACTOR * wanted * table.rows // max(survivors, 1))
    chosen = None
    if index is not None and proposed <= PROPOSED_MAX:
        chosen = _chosen(table, column, query, alive, wanted, proposed)
    if index is None or chosen is None:
        return frame
    uses.append(index)
    rows, values = chosen
    kept, places = _kept(frame, nodes, rows, table, alive)
    return kept.with_values(variable, column, values.take(pa.array(places)))


def alive_rows(table: TableView, nodes: Rows) -> Mask | None:
    """For every row of a table whether it is among some nodes, and one more entry for null; None if all rows are."""
    if len(nodes) == table.size and is_ascending(nodes):
        return None
    alive = np.zeros(table.size + 1, bool)
    alive[nodes] = True
    alive[-1] = False
    return alive


def _kept(frame: Frame, nodes: Rows, rows: Rows, table: TableView, alive: Mask | None) -> tuple[Frame, Rows]:
    """The frame with only the rows of some nodes, and for each of them the position of its node."""
    if alive is None:
        # Every node is at the position of its row number.
        return frame.take(rows), np.arange(len(rows))
    places = np.full(table.size + 1, -1)
    places[rows] = np.arange(len(rows))
    kept = np.flatnonzero(places[nodes] >= 0)
    return frame.take(kept), places[nodes[kept]]


def _chosen(
    table: TableView, column: str, query: tuple[float, ...], alive: Mask | None, wanted: int, proposed: int
) -> tuple[Rows, pa.Array] | None:
    """Surviving candidates with their vectors, if they provably contain the requested rows."""
    addresses, vectors = nearest_rows(table.store, table.pin, column, query, proposed)
    found = table.layout.numbers_at(addresses)
    order = np.argsort(found)
    order = order if alive is None else order[alive[found[order]]]
    found, vectors = found[order], vectors.take(pa.array(order))
    if len(found) < wanted:
        return None
    measured = distances(vectors, query)
    if pc.any(pc.is_null(measured)).as_py():
        return None
    ordered = np.sort(measured.to_numpy(zero_copy_only=False))
    # If the last requested distance equals the largest candidate distance, rows outside may be equally close.
    return (found, vectors) if ordered[wanted - 1] < ordered[-1] else None
