"""Adapter of scipy, the only module that imports it: sparse matrices, components, shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Integers, Rows

MISSING_HINT = 'pip install "omnigraph[analytics]"'

Numbers = npt.NDArray[np.float64]


def require_scipy() -> None:
    """Raise with an installation hint if scipy is missing."""
    _scipy()


def _scipy() -> Any:
    try:
        import scipy.sparse
        import scipy.sparse.csgraph
    except ImportError as error:
        raise UsageError("graph algorithms need scipy, which is not installed", hint=MISSING_HINT) from error
    return scipy.sparse


def matrix(offsets: Integers, columns: Integers, values: npt.NDArray[Any], width: int) -> Any:
    """A CSR matrix. Repeated entries are allowed and add up in a product."""
    return _scipy().csr_array((values, columns, offsets), shape=(len(offsets) - 1, width))


def components(square: Any, *, strong: bool) -> Rows:
    """Component labels of all nodes. Entries must not repeat: scipy's result would be wrong."""
    connection = "strong" if strong else "weak"
    _, labels = _scipy().csgraph.connected_components(square, directed=True, connection=connection)
    return np.asarray(labels, np.int64)


def distances(square: Any, starts: Rows, limit: float) -> Numbers:
    """The distance of every node from the nearest start, infinite if unreachable. Entries must not repeat."""
    found = _scipy().csgraph.dijkstra(square, indices=starts, limit=limit, min_only=True)
    return np.asarray(found, np.float64)
