"""The one door to scipy: sparse matrices, and what is known of them in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Integers, Rows

MISSING_HINT = 'pip install "omnigraph[analytics]"'

Numbers = npt.NDArray[np.float64]


def require_scipy() -> None:
    """Raise with the remedy if scipy is not installed."""
    _scipy()


def _scipy() -> Any:
    try:
        import scipy.sparse
        import scipy.sparse.csgraph
    except ImportError as error:
        raise UsageError("algorithms over graphs need scipy, which is not installed", hint=MISSING_HINT) from error
    return scipy.sparse


def matrix(offsets: Integers, columns: Integers, values: npt.NDArray[Any], width: int) -> Any:
    """A sparse matrix by rows. Entries may stand several times, and mean their sum in a product."""
    return _scipy().csr_array((values, columns, offsets), shape=(len(offsets) - 1, width))


def components(square: Any, *, strong: bool) -> Rows:
    """A label for every node; connected nodes have the same. An entry that stands twice would lead scipy astray."""
    connection = "strong" if strong else "weak"
    _, labels = _scipy().csgraph.connected_components(square, directed=True, connection=connection)
    return np.asarray(labels, np.int64)


def distances(square: Any, starts: Rows, limit: float) -> Numbers:
    """The distance of every node from the nearest start, infinite where there is no way. No entry stands twice."""
    found = _scipy().csgraph.dijkstra(square, indices=starts, limit=limit, min_only=True)
    return np.asarray(found, np.float64)
