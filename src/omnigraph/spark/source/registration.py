"""Registration of the data source with sessions, without importing Spark first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make ``format("omnigraph")`` known to a session."""
    # Spark may be missing: everything else in ``omnigraph.spark`` imports without it.
    from omnigraph.spark.source.data_source import OmnigraphSource

    spark.dataSource.register(OmnigraphSource)
