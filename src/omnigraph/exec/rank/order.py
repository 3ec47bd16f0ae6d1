"""The order of scores: ascending, ties by id."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from omnigraph.exec.tables import Rows, TableView
from omnigraph.exec.vectors import Doubles


def score_order(scores: Doubles, nodes: Rows, table: TableView) -> Rows:
    """Positions by ascending score; ids break ties and are read for tied rows only."""
    order = np.argsort(scores, kind="stable")
    equal = scores[order[1:]] == scores[order[:-1]]
    if not equal.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    level = order[tied]
    by_id = np.empty(len(level), np.int64)
    # Equal ids, of a node with several rows, stay in the order of their positions: both sorts are stable.
    by_id[pc.array_sort_indices(table.values("id", nodes[level])).to_numpy()] = np.arange(len(level))
    order[tied] = level[np.lexsort((by_id, scores[level]))]
    return order
