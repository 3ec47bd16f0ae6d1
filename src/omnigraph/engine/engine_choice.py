"""Who does large work: this process or Spark, by what is asked for and by the bytes that go in."""

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
"""Bytes of input from which ``auto`` takes Spark: more than one machine should carry. Below, it is faster."""


def check_engine(engine: str) -> str:
    """The same name, if it is one."""
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}", hint=f"it is one of {', '.join(ENGINES)}")
    return engine


def is_large(size: int) -> bool:
    """Whether ``auto`` leaves so many bytes to Spark; never where it is not installed."""
    return size >= spark_from(SPARK_FROM_VARIABLE, SPARK_FROM_BYTES, "bytes") and has_spark()


def has_spark() -> bool:
    """Whether Spark is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("pyspark", "pandas"))


def spark_from(variable: str, default: int, things: str) -> int:
    """How many things are for Spark: what the environment says, else the default."""
    given = os.environ.get(variable)
    try:
        return default if given is None else int(given)
    except ValueError:
        raise UsageError(f"{variable} is {given!r}", hint=f"it is a number of {things}") from None
