"""The order of scores: ascending, ties by id."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.shape import steps
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
    by_id = steps.ranks(table.values("id", nodes[level]))
    order[tied] = level[np.lexsort((by_id, scores[level]))]
    return order
