"""Calls of the operations: answered in threads of our own, with errors in the terms of the interface.

Lance calls a Python namespace from its runtime. Reading a table there enters that runtime a second time, which ends
the process. The calling thread therefore waits, and another one reads.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lance_namespace import LanceNamespace

from omnigraph.errors import OmnigraphError
from omnigraph.namespace.failures import translated

THREADS_MAX = 32
"""Operations answered at a time. They mostly wait for the store, and batches of one branch are published together."""

_answering = threading.local()


def _begin() -> None:
    _answering.is_worker = True


_WORKERS = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="omnigraph-namespace", initializer=_begin)


def answer_in_own_threads(namespace: type[LanceNamespace]) -> None:
    """Wrap every operation of a class."""
    for name, operation in list(vars(namespace).items()):
        if not name.startswith("_") and callable(operation) and name != "namespace_id":
            setattr(namespace, name, _elsewhere(operation))


def _elsewhere(operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def answer(*arguments: Any) -> Any:
        try:
            return operation(*arguments)
        except OmnigraphError as error:
            raise translated(error) from error

    @functools.wraps(operation)
    def call(*arguments: Any) -> Any:
        # An operation that uses another one must not wait for a second thread: all of them may do the same.
        if getattr(_answering, "is_worker", False):
            return answer(*arguments)
        return _WORKERS.submit(answer, *arguments).result()

    return call
