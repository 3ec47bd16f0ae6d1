"""Descriptions of jobs in Spark's UI: graph, commit and step, on jobs, their stages and SQL executions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.spark.cluster.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread runs within the block. Spark Connect takes no descriptions."""
    if is_connect(spark):
        yield
        return
    context: Any = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)
