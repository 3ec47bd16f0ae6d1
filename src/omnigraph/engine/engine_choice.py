"""Who does large work: this process or Spark, by what is asked for and by the bytes that go in."""

from __future__ import annotations

import importlib.util
import os

from omnigraph.errors import UsageError

EMBEDDED = "embedded"
BY_SPARK = "spark"
ENGINES = ("auto", EMBEDDED, BY_SPARK)
SPARK_FROM_VARIABLE = "OMNIGRAPH_SPARK_FROM"
SPARK_FROM_BYTES = 32 * 1024**3
"""Bytes of input from which ``auto`` takes Spark: more than one machine should carry. Below, it is faster."""


def check_engine(engine: str) -> str:
    """The same name, if it is one."""
    if engine not in ENGINES:
        raise UsageError(f"{engine!r} is not an engine", hint=f"it is one of {', '.join(ENGINES)}")
    return engine


def is_large(size: int) -> bool:
    """Whether ``auto`` leaves so many bytes to Spark; never where it is not installed."""
    return size >= spark_from() and importlib.util.find_spec("pyspark") is not None


def spark_from() -> int:
    """Bytes from which work is large: what the environment says, else the default."""
    given = os.environ.get(SPARK_FROM_VARIABLE)
    try:
        return SPARK_FROM_BYTES if given is None else int(given)
    except ValueError:
        raise UsageError(f"{SPARK_FROM_VARIABLE} is {given!r}", hint="it is a number of bytes") from None
