"""A Spark Connect server on loopback, in the JVM of a session that is there already: it starts none of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.features.spark.standalone import LOOPBACK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def connect_server(spark: SparkSession) -> Iterator[str]:
    """The address of a server while the block runs."""
    context: Any = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.address", LOOPBACK)
    context.conf().set("spark.connect.grpc.binding.port", "0")
    package: Any = spark.sparkContext._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")
    service.start(context)
    try:
        yield f"sc://{LOOPBACK}:{service.localPort()}"
    finally:
        service.stop(getattr(service, "stop$default$1")(), getattr(service, "stop$default$2")())
