"""Graphs with other thresholds: what takes thousands of rows in use happens in a test after a few."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph
from omnigraph.storage.tables.store import Store

EAGER = Tuning(index_rows_min=0, vector_index_rows_min=0)
"""Every table gets its indexes."""


def tuned(graph: Graph, **fields: Any) -> Graph:
    """The graph opened again with other values, by a handle that knows nothing; clock and ids go on."""
    store = graph._store
    other = Store(graph.uri, store.options, store.durability, replace(store.tuning, **fields))
    return Graph(other, clock=graph._context.clock, ids=graph._context.ids, embedder=graph._embedder)


@contextmanager
def retuned(graph: Graph, **fields: Any) -> Iterator[None]:
    """The same handle with other values for a while: what it knows of the graph stays."""
    before = graph._store.tuning
    graph._store.tuning = replace(before, **fields)
    try:
        yield
    finally:
        graph._store.tuning = before
