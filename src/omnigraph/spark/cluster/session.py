"""Spark sessions: a local one with suitable settings, or the user's own, validated."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import SparkUnavailable
from omnigraph.spark.cluster.connect import connect, require
from omnigraph.spark.cluster.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_MAJOR_MIN = 4
"""The first major version with the Python data source API and Arrow in both directions."""

_ARROW = "spark.sql.execution.arrow.pyspark.enabled"
_LOOPBACK = "127.0.0.1"
_REMOTE = "spark.remote"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by ``spark-submit`` for the driver: a JVM with the settings of the cluster is running already."""
_LOGGING = Path(__file__).with_name("log4j2.properties")
"""Suppresses Spark's banner and warnings about the machine: failures reach the caller as errors."""

_SETTINGS = {
    _ARROW: "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Loopback only: a host name that resolves to another address would make the driver unreachable.
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.driver.host": _LOOPBACK,
    "spark.sql.adaptive.enabled": "true",
    # A reused worker has Lance imported and its tables open.
    "spark.python.worker.reuse": "true",
    "spark.sql.session.timeZone": "UTC",
}


def session(
    app_name: str = "omnigraph",
    *,
    cores: int | None = None,
    memory: str = "2g",
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """The active session, or a new local one. ``config`` extends or overrides the default settings.

    Starts a JVM, which takes some seconds. In a job of ``spark-submit`` the session is that of the job, and with
    ``SPARK_REMOTE`` in the environment, or ``spark.remote`` in ``config``, one of that Spark Connect server; ``cores``
    and ``memory`` then have no effect.
    """
    _require_packages()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return check_session(running)
    remote = (config or {}).get(_REMOTE) or os.environ.get("SPARK_REMOTE")
    if remote:
        return connect(remote, app_name, config)
    if _SUBMITTED in os.environ:
        return _started({_ARROW: "true", **(config or {})}, app_name)
    number = cores or os.cpu_count() or 1
    settings = {
        **_SETTINGS,
        "spark.master": f"local[{number}]",
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(2 * number),
        **(config or {}),
    }
    # A package in a zip file has no files that the JVM could read.
    quiet = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} " if _LOGGING.exists() else ""
    settings[_JAVA_OPTIONS] = f"{quiet}{settings.get(_JAVA_OPTIONS, '')}".rstrip()
    with java_home() as home, _starting(home):
        return _started(settings, app_name)


def _started(settings: Mapping[str, str], app_name: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailable(
            f"Spark did not start: {error}", hint="see the output of the JVM on standard error"
        ) from error
    for prepare in _AT_START:
        prepare(started)
    return started


_AT_START: list[Callable[[SparkSession], None]] = []


def at_start(prepare: Callable[[SparkSession], None]) -> None:
    """Run a function on every session that this module starts."""
    _AT_START.append(prepare)


@contextmanager
def _starting(home: str) -> Iterator[None]:
    """Set the environment variables for starting a JVM and its Python workers; restore them afterwards."""
    wanted = {
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", _LOOPBACK),
        "JAVA_HOME": home,
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        with warnings.catch_warnings():
            # Lance warns about every fork. This child process calls `exec` immediately and never uses Lance.
            warnings.filterwarnings("ignore", message="lance is not fork-safe")
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def check_session(spark: SparkSession) -> SparkSession:
    """Return the session if it is usable; raises SparkUnavailable that names what is missing."""
    _require_packages()
    major = int(spark.version.split(".")[0])
    if major < SPARK_MAJOR_MIN:
        raise SparkUnavailable(
            f"the session runs Spark {spark.version}, but Spark {SPARK_MAJOR_MIN} or newer is required",
            hint="connect to a newer cluster, or use omnigraph.spark.session()",
        )
    if spark.conf.get(_ARROW, "true") != "true":
        raise SparkUnavailable(
            "Arrow is disabled in this session", hint=f'enable it: spark.conf.set("{_ARROW}", "true")'
        )
    return spark


def _require_packages() -> None:
    require(("pyspark", "pandas"), "Spark", 'pip install "omnigraph[spark]"')
