"""Choice of the engine for large work: this process or Spark, by name or by the bytes of input."""

from __future__ import annotations

import importlib.util
import os

from omnigraph.errors import UsageError

AUTO = "auto"
EMBEDDED = "embedded"
BY_SPARK = "spark"
ENGINES = (AUTO, EMBEDDED, BY_SPARK)
SPARK_FROM_VARIABLE = "OMNIGRAPH_SPARK_FROM"
SPARK_FROM_BYTES = 32 * 1024**3
"""Bytes of input from which ``auto`` takes Spark: more than one machine should process. Less is faster here."""


def check_engine(engine: str) -> str:
    """The engine name, validated."""
    if engine not in ENGINES:
        raise UsageError(f"unknown engine: {engine!r}", hint=f"expected one of {', '.join(ENGINES)}")
    return engine


def is_large(size: int) -> bool:
    """True if ``auto`` chooses Spark for that many bytes; never where Spark is not installed."""
    return size >= spark_from(SPARK_FROM_VARIABLE, SPARK_FROM_BYTES, "bytes") and has_spark()


def has_spark() -> bool:
    """True if Spark is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("pyspark", "pandas"))


def spark_from(variable: str, default: int, things: str) -> int:
    """The threshold for Spark: the environment variable, or the default."""
    given = os.environ.get(variable)
    try:
        return default if given is None else int(given)
    except ValueError:
        raise UsageError(f"invalid value for {variable}: {given!r}", hint=f"expected a number of {things}") from None
