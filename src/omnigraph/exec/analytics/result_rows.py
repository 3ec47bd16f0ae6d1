"""Rows of an analysis: types and ids of the nodes beside their values, or the nodes of walks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.work import NodeValues, Walks
from omnigraph.exec.shape.result_rows import ResultRows

WALK = "walk"

_NODE = (("type", pa.utf8()), ("id", pa.utf8()))


def value_rows(space: NodeSpace, found: NodeValues) -> ResultRows:
    """A row for every node, in the order of the tables."""
    fields = [*_NODE, *((name, array.type) for name, array in found.columns.items())]

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        return [*space.columns(start, stop), *(array.slice(start, stop - start) for array in found.columns.values())]

    return ResultRows(pa.schema(fields), space.size, read)


def walk_rows(space: NodeSpace, found: Walks) -> ResultRows:
    """A row for every walk, with the walks of a node one after the other."""
    count = len(found.paths)

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        rows = np.arange(start, stop)
        first, last = start // count, -(-stop // count)
        places = [[array.slice(first, last - first).to_numpy() for array in path] for path in found.paths]
        # Axes: walk, place, start. One walk of one start is a line.
        numbers = np.array(places).transpose(2, 0, 1)[rows // count - first, rows % count]
        types, ids = _named(space, rows // count)
        return [types, ids, _lists(space, numbers)]

    fields = [*_NODE, (WALK, pa.list_(pa.utf8()))]
    return ResultRows(pa.schema(fields), space.size * count, read)


def _named(space: NodeSpace, numbers: Rows) -> tuple[pa.Array, pa.Array]:
    """Types and ids of nodes in any order, with repetitions."""
    known, places = np.unique(numbers, return_inverse=True)
    types, ids = space.columns_at(known)
    return types.take(pa.array(places)), ids.take(pa.array(places))


def _lists(space: NodeSpace, numbers: Rows) -> pa.Array:
    """Lines of node numbers, which end at -1, as lists of ids; with their type if several types take part."""
    lengths = (numbers >= 0).sum(axis=1)
    types, ids = _named(space, numbers[numbers >= 0])
    if len(space.tables) > 1:
        ids = pa.compute.binary_join_element_wise(types, ids, ":")
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32()), ids)


def window_pairs(walks: pa.ListArray, window: int) -> Iterator[pa.RecordBatch]:
    """Pairs of nodes of a walk that are at most ``window`` places apart, in both orders."""
    lengths = np.diff(walks.offsets.to_numpy())
    places = np.arange(len(walks.values)) - np.repeat(walks.offsets.to_numpy()[:-1], lengths)
    left = np.repeat(lengths, lengths) - places
    for distance in range(1, window + 1):
        nodes = np.flatnonzero(left > distance)
        for near, far in ((nodes, nodes + distance), (nodes + distance, nodes)):
            columns = [walks.values.take(pa.array(side)) for side in (near, far)]
            if len(near):
                yield pa.RecordBatch.from_arrays(columns, names=["node", "context"])
