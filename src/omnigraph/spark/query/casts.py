"""``cast`` on Spark: one row per pair of scalar families; None for a pair that runs in the Python workers.

Spark's own casts of texts and floats accept and write other forms, so these use the embedded kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from omnigraph.core.scalars import INTEGER_RANGES, Family, Scalar
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster.spark_types import spark_type
from omnigraph.spark.query.functions import day_of, start_of
from omnigraph.spark.query.numbers import floor_of

if TYPE_CHECKING:
    from pyspark.sql import Column

Cast = Callable[["Column", PropertyType, PropertyType], "Column"]


def native_cast(expression: ir.Cast) -> Cast | None:
    """The function that casts a column within Spark; None if the workers have to."""
    return CASTS[expression.operand.type.scalar.info.family, expression.type.scalar.info.family]


def _plain(value: Column, _given: PropertyType, wanted: PropertyType) -> Column:
    return value.cast(spark_type(wanted))


def _truth(value: Column, _given: PropertyType, _wanted: PropertyType) -> Column:
    from pyspark.sql import functions as f

    return f.when(value == "true", f.lit(True)).when(value == "false", f.lit(False))


def _from_truth(value: Column, _given: PropertyType, wanted: PropertyType) -> Column:
    return value.cast("int").cast(spark_type(wanted))


def _whole(value: Column, given: PropertyType, wanted: PropertyType) -> Column:
    """An integer of another width; null outside of its range."""
    from pyspark.sql import functions as f

    (low, high), (least, most) = INTEGER_RANGES[wanted.scalar], INTEGER_RANGES[given.scalar]
    fits = f.lit(True)
    if least < low:
        fits = fits & (value >= f.lit(Decimal(low)))
    if most > high:
        fits = fits & (value <= f.lit(Decimal(high)))
    return f.when(fits, value.try_cast(spark_type(wanted)))


def _truncated(value: Column, _given: PropertyType, wanted: PropertyType) -> Column:
    """A float without its fraction; null if no integer of the type is that number."""
    from pyspark.sql import functions as f

    low, high = INTEGER_RANGES[wanted.scalar]
    number = value.cast("double")
    inside = (number > float(low) - 1 if low > -(2**53) else number >= float(low)) & (number < float(high + 1))
    kept = f.when(inside & ~f.isnan(number), number)
    upwards = f.when(kept < 0, f.ceil(kept).cast("long").cast("decimal(21,0)"))
    whole = f.coalesce(upwards, floor_of(f.when(kept >= 0, kept)).cast("decimal(21,0)"))
    return whole.try_cast(spark_type(wanted))


def _rounded(value: Column, _given: PropertyType, wanted: PropertyType) -> Column:
    """The nearest float; null if a finite number becomes infinite."""
    from pyspark.sql import functions as f

    found = value.cast(spark_type(wanted))
    if wanted.scalar is not Scalar.F32:
        return found
    is_lost = (f.abs(found) == float("inf")) & (f.abs(value.cast("double")) != float("inf"))
    return f.when(~is_lost, found)


def _between_moments(value: Column, given: PropertyType, wanted: PropertyType) -> Column:
    return day_of(value, given.scalar) if wanted.scalar is Scalar.DATE else start_of(value)


def _same(value: Column, _given: PropertyType, _wanted: PropertyType) -> Column:
    """UUIDs and times of day are texts on Spark."""
    return value


_WORKERS: Final = (
    (Family.TEXT, Family.INTEGER),
    (Family.TEXT, Family.FLOAT),
    (Family.TEXT, Family.DECIMAL),
    (Family.TEXT, Family.TEMPORAL),
    (Family.TEXT, Family.TIME),
    (Family.TEXT, Family.DURATION),
    (Family.TEXT, Family.UUID),
    (Family.FLOAT, Family.TEXT),
    (Family.DECIMAL, Family.TEXT),
    (Family.TEMPORAL, Family.TEXT),
    (Family.DURATION, Family.TEXT),
    (Family.BOOLEAN, Family.DECIMAL),
    (Family.INTEGER, Family.DECIMAL),
    (Family.INTEGER, Family.DURATION),
    (Family.FLOAT, Family.DECIMAL),
    (Family.DECIMAL, Family.INTEGER),
    (Family.DECIMAL, Family.FLOAT),
    (Family.DECIMAL, Family.DECIMAL),
    (Family.TEMPORAL, Family.TIME),
    (Family.TIME, Family.INTEGER),
    (Family.DURATION, Family.INTEGER),
)
_SCALARS: Final = (
    Family.TEXT,
    Family.BOOLEAN,
    Family.INTEGER,
    Family.FLOAT,
    Family.DECIMAL,
    Family.TEMPORAL,
    Family.TIME,
    Family.DURATION,
    Family.UUID,
)

CASTS: Final[dict[tuple[Family, Family], Cast | None]] = {
    **dict.fromkeys(_WORKERS),
    **{(family, Family.JSON): None for family in _SCALARS},
    **{(Family.JSON, family): None for family in _SCALARS},
    (Family.TEXT, Family.BOOLEAN): _truth,
    (Family.UUID, Family.TEXT): _same,
    (Family.TIME, Family.TEXT): _same,
    (Family.BOOLEAN, Family.TEXT): _plain,
    (Family.INTEGER, Family.TEXT): _plain,
    (Family.BOOLEAN, Family.INTEGER): _from_truth,
    (Family.BOOLEAN, Family.FLOAT): _from_truth,
    (Family.INTEGER, Family.INTEGER): _whole,
    (Family.INTEGER, Family.FLOAT): _rounded,
    (Family.FLOAT, Family.INTEGER): _truncated,
    (Family.FLOAT, Family.FLOAT): _rounded,
    (Family.TEMPORAL, Family.TEMPORAL): _between_moments,
}
"""The same pairs as in ``exec/functions/casts.py``."""
