"""Who merges large tables: this process or Spark, by what is asked for and by how many rows can differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine, has_spark, spark_from
from omnigraph.engine.extensions import SPARK, extension
from omnigraph.write.merge.images import Sides
from omnigraph.write.merge.parts import DistributedMerge, PartedMerge

VARIABLE = "OMNIGRAPH_MERGE_SPARK_FROM"

SPARK_FROM_ROWS = 10_000_000
"""Rows of a table that can differ, on both sides and in the base together, from which ``auto`` takes Spark: they are
held in memory otherwise, some of them twice."""


@contextmanager
def merging_elsewhere(engine: str, spark: Any | None) -> Iterator[DistributedMerge | None]:
    """Who merges tables that are too large here. ``spark`` is a session, None for the one of this machine."""
    is_possible = engine == BY_SPARK or has_spark()
    if check_engine(engine) == EMBEDDED or not is_possible:
        yield None
        return
    started: list[Any] = []

    def merge(tables: Sequence[Sides]) -> list[PartedMerge]:
        if not started:
            started.append(extension(SPARK).merger(spark))
        merged: list[PartedMerge] = started[0].merge(tables)
        return merged

    try:
        yield DistributedMerge(1 if engine == BY_SPARK else spark_from(VARIABLE, SPARK_FROM_ROWS, "rows"), merge)
    finally:
        for merger in started:
            merger.close()
