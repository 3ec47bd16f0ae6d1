"""Weights of rows on Spark: how many equal rows one row stands for. Whole numbers, exact or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

TOO_MANY = "the pattern has more matches than a 64-bit integer counts"


def total(multiplicities: Column) -> Column:
    """The sum of the weights of a group; null if there is none."""
    from pyspark.sql import functions as f

    added = f.try_sum(multiplicities)
    return f.when(added.isNull() & (f.count(multiplicities) > 0), _refused()).otherwise(added)


def product(left: Column, right: Column) -> Column:
    """Weight by weight."""
    from pyspark.sql import functions as f

    multiplied = f.try_multiply(left, right)
    return f.when(multiplied.isNull(), _refused()).otherwise(multiplied)


def _refused() -> Column:
    from pyspark.sql import functions as f

    return f.raise_error(f.lit(TOO_MANY)).cast("long")
