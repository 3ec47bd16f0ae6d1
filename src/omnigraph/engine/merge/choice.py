"""Choice of the engine of a merge: this process or Spark, by name or by the number of rows that can differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from omnigraph.engine import plugs, ports
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine, has_spark, spark_from
from omnigraph.write.merge.images import Sides
from omnigraph.write.merge.parts import DistributedMerge, PartedMerge

VARIABLE = "OMNIGRAPH_MERGE_SPARK_FROM"

SPARK_FROM_ROWS = 10_000_000
"""Rows of a table that can differ, on both sides and in the base together, from which ``auto`` takes Spark: they are
held in memory otherwise, some of them twice."""


@contextmanager
def distributed_merge(engine: str, spark: Any | None) -> Iterator[DistributedMerge | None]:
    """The merger of tables that are too large for this process. ``spark`` is a session, None for a local one."""
    is_possible = engine == BY_SPARK or has_spark()
    if check_engine(engine) == EMBEDDED or not is_possible:
        yield None
        return
    started: list[ports.TableMerger] = []

    def merge(tables: Sequence[Sides]) -> list[PartedMerge]:
        if not started:
            started.append(plugs.cluster().merger(spark))
        return started[0].merge(tables)

    try:
        yield DistributedMerge(1 if engine == BY_SPARK else spark_from(VARIABLE, SPARK_FROM_ROWS, "rows"), merge)
    finally:
        for merger in started:
            merger.close()
