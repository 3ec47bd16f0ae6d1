"""Who merges large tables: this process or Spark, by what is asked for and by how many rows can differ."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine
from omnigraph.engine.extensions import SPARK, extension
from omnigraph.errors import UsageError
from omnigraph.write.merge_images import Sides
from omnigraph.write.merge_parts import Elsewhere, PartedMerge

VARIABLE = "OMNIGRAPH_MERGE_SPARK_FROM"

SPARK_FROM_ROWS = 10_000_000
"""Rows of a table that can differ, on both sides and in the base together, from which ``auto`` takes Spark: they are
held in memory otherwise, some of them twice."""


@contextmanager
def merging_elsewhere(engine: str, spark: Any | None) -> Iterator[Elsewhere | None]:
    """Who merges tables that are too large here. ``spark`` is a session, None for the one of this machine."""
    is_possible = engine == BY_SPARK or importlib.util.find_spec("pyspark") is not None
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
        yield Elsewhere(1 if engine == BY_SPARK else _spark_from(), merge)
    finally:
        for merger in started:
            merger.close()


def _spark_from() -> int:
    given = os.environ.get(VARIABLE)
    try:
        return SPARK_FROM_ROWS if given is None else int(given)
    except ValueError:
        raise UsageError(f"{VARIABLE} is {given!r}", hint="it is a number of rows") from None
