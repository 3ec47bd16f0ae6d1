"""Sessions of a Spark Connect server: Spark runs elsewhere, and this process needs no Java.

Loads, exports and the data source work there as they do on any session, with what such a session lacks left out: it has
no counters for rows, and does not say which task reads which part of a file.
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
"""Where servers listen unless told otherwise."""

ANSWER_SECONDS_MAX = 10.0
"""How long a server may take to be there. Spark's own client would ask for ten minutes."""


def connect(remote: str, app_name: str, config: Mapping[str, str] | None) -> SparkSession:
    """A session of the server at ``sc://host:port``."""
    require(("grpc", "grpc_status"), "Spark Connect", 'pip install "pyspark[connect]"')
    from pyspark.sql import SparkSession

    _require_answer(remote)
    builder = SparkSession.builder.remote(remote).appName(app_name)
    for name, value in (config or {}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailable(f"no session of the Spark Connect server at {remote}: {error}", remote=remote) from error


def _require_answer(remote: str) -> None:
    parsed = urlparse(remote)
    if parsed.scheme != "sc" or not parsed.hostname:
        hint = "write sc://host:port, or leave SPARK_REMOTE out for a session on this machine"
        raise SparkUnavailable(f"{remote!r} is not the address of a Spark Connect server", hint=hint, remote=remote)
    try:
        with socket.create_connection((parsed.hostname, parsed.port or PORT), ANSWER_SECONDS_MAX):
            return
    except OSError as error:
        raise SparkUnavailable(
            f"no Spark Connect server answers at {remote}: {error.strerror or error}",
            hint="look whether it runs, and at SPARK_REMOTE",
            remote=remote,
        ) from error


def require(names: Sequence[str], what: str, hint: str) -> None:
    """Raise if a package that something needs is not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise SparkUnavailable(f"{what} needs {' and '.join(missing)}, not installed here", hint=hint)


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
