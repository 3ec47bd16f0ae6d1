"""Ctrl-C while a query runs: the query is cancelled, and the shell stays alive.

The query runs in a thread of its own, because Python handles signals in the main thread only, and not before a call
into DuckDB or Arrow returns. The handler raises nothing: an exception between two statements here would be lost or
would leave the thread running.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")


def cancellable(work: Callable[[threading.Event], Answer]) -> Answer:
    """The answer of the work; Ctrl-C sets its event, and the work is expected to raise ``QueryCancelled`` then."""
    cancel = threading.Event()
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: cancel.set())
    try:
        with ThreadPoolExecutor(1, "omnigraph-shell") as threads:
            return threads.submit(work, cancel).result()
    finally:
        signal.signal(signal.SIGINT, before)
