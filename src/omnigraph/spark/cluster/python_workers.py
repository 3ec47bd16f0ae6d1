"""Python workers of executors: running a function in them, with cheap garbage collection."""

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
    """Apply the work to the batches of every partition of a frame. Lazy: nothing runs yet."""
    return frame.mapInArrow(partial(_in_worker, work), columns)


@cache
def freeze_imports() -> None:
    """Exclude the objects of imported modules from garbage collection, once per process.

    Spark's worker collects after every task. Traversing the objects of all modules takes about 50 ms, far longer than a
    small task, and iterative algorithms run very many small tasks.
    """
    gc.collect()
    gc.freeze()
    # At exit, libraries that report leaked objects would otherwise report everything that is frozen.
    atexit.register(gc.unfreeze)


def _in_worker(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    freeze_imports()
    return work(batches)
