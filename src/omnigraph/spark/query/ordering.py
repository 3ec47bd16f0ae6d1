"""Sort order, offset and limit of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import LimitExceeded
from omnigraph.query.ir import Slice

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ROWS_MAX = 2**31 - 1
"""Maximum rows that Spark can skip or take: it uses 32-bit integers."""


def sort_columns(keys: Sequence[tuple[Column, bool]]) -> list[Column]:
    """Sort columns for (key, descending) pairs. Null is smallest; NaN is greater than every number, as in Spark."""
    return [key.desc_nulls_last() if descending else key.asc_nulls_first() for key, descending in keys]


def sliced(operator: Slice, frame: DataFrame) -> DataFrame:
    """Apply offset and limit of a Slice operator."""
    if operator.limit == 0:
        return frame.limit(0)
    if operator.offset > ROWS_MAX:
        rows = frame.count()
        if rows > operator.offset:
            raise LimitExceeded(
                f"Spark cannot skip {operator.offset:,} rows",
                hint="filter the query instead of skipping rows",
                resource="rows",
                limit=ROWS_MAX,
                actual=operator.offset,
            )
        return frame.limit(0)
    below = frame.offset(operator.offset) if operator.offset else frame
    return below if operator.limit is None or operator.limit > ROWS_MAX else below.limit(operator.limit)
