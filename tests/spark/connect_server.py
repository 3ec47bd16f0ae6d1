"""A Spark Connect server on loopback, from the classes that pyspark brings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.spark.standalone import LOOPBACK, QUICK, Cluster, spark_environment

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_READY = re.compile(r"Spark Connect server started at: \S*?:(\d+)")


@contextmanager
def connect_server(directory: Path, python_path: str) -> Iterator[str]:
    """The address of a server while the block runs. Fails if it leaves a process behind."""
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.extraJavaOptions": QUICK,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    with spark_environment() as environment:
        # It is a daemon to Spark, whatever is said of a driver.
        server = Cluster(directory, {**environment, "PYTHONPATH": python_path, "SPARK_DAEMON_MEMORY": "768m"})
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        try:
            server.launch("server", _SUBMIT, *words, "--master", "local[2]", "--class", _SERVER, "spark-internal")
            yield f"sc://{LOOPBACK}:{server.said('server', _READY)}"
        finally:
            server.stop()
            left = server.leftovers()
        assert left == [], "processes outlived the server"
