"""The Python workers of executors: how a function comes to run in them, and what they are spared."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def mapped(frame: DataFrame, work: Work, columns: str | StructType) -> DataFrame:
    """What the work makes of the batches of a frame, in the tasks that have them; nothing runs yet."""
    return frame.mapInArrow(partial(_in_worker, work), columns)


@cache
def settle() -> None:
    """Leave what is imported by now out of garbage collections. Does so once in a process.

    Spark's worker collects after every task. Looking at the objects of all modules takes some 50 ms, far longer than a
    small task takes, and an algorithm of many rounds has very many of those.
    """
    gc.collect()
    gc.freeze()
    # Libraries that count what is left at the end would take all of it for lost.
    atexit.register(gc.unfreeze)


def _in_worker(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return work(batches)
