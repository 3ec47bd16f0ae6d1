"""Values that executors read during a job: broadcasts, or with Spark Connect copies in the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from omnigraph.spark.cluster.connect import is_connect


class Shipped(Protocol):
    """A value that executors can read."""

    @property
    def value(self) -> Any: ...


@contextmanager
def shipped(spark: Any, value: Any) -> Iterator[Shipped]:
    """Provide a value to executors within the block."""
    if is_connect(spark):
        yield _Carried(value)
        return
    broadcast = spark.sparkContext.broadcast(value)
    try:
        yield broadcast
    finally:
        broadcast.destroy()


@dataclass(frozen=True)
class _Carried:
    value: Any
