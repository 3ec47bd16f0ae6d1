"""Order and limits of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import LimitExceeded
from omnigraph.query.ir import Slice

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ROWS_MAX = 2**31 - 1
"""Rows that Spark can skip or take."""


def sort_columns(keys: Sequence[tuple[Column, bool]]) -> list[Column]:
    """Keys, each with whether it descends. Null is smallest; NaN is above every number, as Spark has it too."""
    return [key.desc_nulls_last() if descending else key.asc_nulls_first() for key, descending in keys]


def sliced(operator: Slice, frame: DataFrame) -> DataFrame:
    """The rows of a slice."""
    if operator.limit == 0:
        return frame.limit(0)
    if operator.offset > ROWS_MAX:
        rows = frame.count()
        if rows > operator.offset:
            raise LimitExceeded(
                f"Spark cannot skip {operator.offset:,} rows",
                hint="narrow the query instead of skipping its rows",
                resource="rows",
                limit=ROWS_MAX,
                actual=operator.offset,
            )
        return frame.limit(0)
    below = frame.offset(operator.offset) if operator.offset else frame
    return below if operator.limit is None or operator.limit > ROWS_MAX else below.limit(operator.limit)
