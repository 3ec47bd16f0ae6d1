"""Spark Connect sessions: the driver runs on a server, and this process needs no Java.

Loads, exports and the data source work as on a classic session, with two exceptions. There are no accumulators, so a
running load does not count rows. The physical plan is not visible, so a load through a mapping cannot be resumed.
"""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from omnigraph.errors import SparkUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORT = 15002
"""Default port of Spark Connect servers."""

ANSWER_SECONDS_MAX = 10.0
"""Connection timeout. Spark's own client would retry for ten minutes."""


def connect(remote: str, app_name: str, config: Mapping[str, str] | None) -> SparkSession:
    """Open a session on the server at ``sc://host:port``."""
    require(("grpc", "grpc_status"), "Spark Connect", 'pip install "pyspark[connect]"')
    from pyspark.sql import SparkSession

    _require_answer(remote)
    builder = SparkSession.builder.remote(remote).appName(app_name)
    for name, value in (config or {}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailable(
            f"cannot open a session on the Spark Connect server at {remote}: {error}", remote=remote
        ) from error


def _require_answer(remote: str) -> None:
    parsed = urlparse(remote)
    if parsed.scheme != "sc" or not parsed.hostname:
        hint = "use sc://host:port, or unset SPARK_REMOTE for a local session"
        raise SparkUnavailable(f"invalid address of a Spark Connect server: {remote!r}", hint=hint, remote=remote)
    try:
        with socket.create_connection((parsed.hostname, parsed.port or PORT), ANSWER_SECONDS_MAX):
            return
    except OSError as error:
        raise SparkUnavailable(
            f"no Spark Connect server answers at {remote}: {error.strerror or error}",
            hint="check that the server is running and that SPARK_REMOTE is right",
            remote=remote,
        ) from error


def require(names: Sequence[str], what: str, hint: str) -> None:
    """Raise SparkUnavailable if a required package is not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise SparkUnavailable(f"{what} requires {' and '.join(missing)}, which is not installed", hint=hint)


def is_connect(spark: SparkSession) -> bool:
    """True for a Spark Connect session."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
