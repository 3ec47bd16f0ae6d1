"""Errors of the data source, as users of Spark see them.

Spark runs a data source in Python workers and reports an error as the text of its traceback. For an error that a user
can act on, the traceback hides the message, so it is left out.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from omnigraph.errors import OmnigraphError

P = ParamSpec("P")
R = TypeVar("R")

_HIDE = "SPARK_HIDE_TRACEBACK"
"""Read by the worker when it reports an error. The worker ends after that, so no later error is affected."""


def reported(method: Callable[P, R]) -> Callable[P, R]:
    """Let the worker report an OmnigraphError by its message alone."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except OmnigraphError:
            if "SPARK_PYTHON_RUNTIME" in os.environ:
                os.environ[_HIDE] = "1"
            raise

    return call
