"""The tables that an analysis reads on a cluster, and the resources that end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.spark.analytics.edge_tables import EdgePiece
from omnigraph.spark.analytics.messages import Message, packed, sent
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Origin:
    """The session, the tables of one commit, and everything that is released at the end of the analysis."""

    spark: SparkSession
    store: Store
    space: NodeSpace
    edges: Sequence[EdgePiece]
    resources: ExitStack

    def messages(self, count: int, make: Callable[[int], Iterator[Message]]) -> DataFrame:
        """The messages of tasks that are numbered from 0. Lazy."""
        return sent(self.spark.range(0, count, 1, max(count, 1)), partial(_numbered, make))

    def persisted(self, frame: DataFrame) -> DataFrame:
        """A frame that stays on the executors until the end of the analysis."""
        kept = frame.persist()
        self.resources.callback(kept.unpersist)
        return kept


def _numbered(make: Callable[[int], Iterator[Message]], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from packed(make(number))


def dense(messages: Sequence[Message], sizes: Sequence[int]) -> Any:
    """Arrays of blocks one after the other; zeros for a block without a message."""
    arrays = {message.block: message.content for message in messages}
    kind = next(iter(arrays.values())).dtype if arrays else np.float64
    return np.concatenate(
        [arrays[block] if block in arrays else np.zeros(size, kind) for block, size in enumerate(sizes)]
    )
