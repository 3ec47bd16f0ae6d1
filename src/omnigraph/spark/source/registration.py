"""Registration of the data source with sessions, without importing Spark first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "spark.omnigraph."


def register(spark: SparkSession) -> None:
    """Make ``format("omnigraph")`` known to a session, with the settings ``spark.omnigraph.*`` as default options.

    The settings are read now: after changing them, register again.
    """
    # Spark may be missing: everything else in ``omnigraph.spark`` imports without it.
    from omnigraph.spark.source.data_source import OmnigraphSource

    settings = spark.conf.getAll
    defaults = {name[len(_PREFIX) :]: value for name, value in settings.items() if name.startswith(_PREFIX)}
    # Of ``__main__``, so that Spark pickles the class with its settings. A class of another module is imported by name.
    source = type("OmnigraphSource", (OmnigraphSource,), {"defaults": defaults, "__module__": "__main__"})
    spark.dataSource.register(source)
