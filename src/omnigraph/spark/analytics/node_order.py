"""The order of nodes by type and id, sorted on executors: a sort by ranges, whose boundaries are ids of a sample."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.analytics.messages import Message
from omnigraph.spark.analytics.node_tables import NodePiece, node_pieces, read_column
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLED_IDS = 64
"""Ids of the sample per piece and per range: ranges differ in size by some tenths."""


@dataclass(frozen=True)
class Ranges:
    """Ranges of types and ids: the number of the first range of every type, and the ids between its ranges."""

    firsts: Mapping[str, int]
    cuts: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        return sum(len(cuts) + 1 for cuts in self.cuts.values())


def sampled_ranges(spark: SparkSession, store: Store, space: NodeSpace, wanted: int) -> Ranges:
    """About as many ranges as wanted, with about equally many nodes each."""
    pieces = node_pieces(space)
    samples = run_tasks(spark, partial(_sample, store, wanted * SAMPLED_IDS // max(len(pieces), 1) + 1), pieces)
    firsts: dict[str, int] = {}
    cuts: dict[str, Sequence[str]] = {}
    for name, table in space.tables.items():
        parts = zip(pieces, samples, strict=True)
        ids = sorted(id_ for piece, part in parts if piece.type_name == name for id_ in part)
        ranges = max(min(wanted * table.rows // max(space.size, 1), len(ids)), 1)
        firsts[name] = sum(len(known) + 1 for known in cuts.values())
        cuts[name] = sorted({ids[place * len(ids) // ranges] for place in range(1, ranges)})
    return Ranges(firsts, cuts)


def _sample(store: Store, count: int, piece: NodePiece) -> list[str]:
    ids = read_column(store, piece, ID)
    chosen = np.random.default_rng(0).integers(0, len(ids), count) if len(ids) else np.zeros(0, np.int64)
    found: list[str] = ids.take(pa.array(chosen)).to_pylist()
    return found


def ranged_ids(store: Store, pieces: Sequence[NodePiece], ranges: Ranges, number: int) -> Iterator[Message]:
    """The ids of a piece, with the numbers of their nodes, for their ranges."""
    piece = pieces[number]
    ids = read_column(store, piece, ID)
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)
    ordered = _Sorted(ids, order)
    bounds = [0, *(bisect_left(ordered, cut) for cut in ranges.cuts[piece.type_name]), len(ids)]
    for place, (start, stop) in enumerate(pairwise(bounds)):
        if start < stop:
            own = order[start:stop]
            yield Message(ranges.firsts[piece.type_name] + place, number, (ids.take(pa.array(own)), own + piece.first))


class _Sorted(Sequence[str]):
    """Ids in their order, read one by one: a binary search looks at few of them."""

    def __init__(self, ids: pa.Array, order: Rows) -> None:
        self._ids = ids
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, place: Any) -> Any:
        return self._ids[int(self._order[place])].as_py()


def sorted_numbers(messages: list[Message]) -> Rows:
    """The numbers of the nodes of a range, in the order of their ids."""
    ids = pa.concat_arrays([message.content[0] for message in messages])
    numbers = np.concatenate([message.content[1] for message in messages])
    ordered: Rows = numbers[pc.sort_indices(ids).to_numpy()]
    return ordered
