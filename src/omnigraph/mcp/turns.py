"""Turns: calls of one task, one at a time in this process.

A client may send several calls together, and a call whose client went away still runs. Without turns a write could land
on a branch between its merge and its deletion and be lost, and a task that was answered as dropped could be merged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from omnigraph.mcp.session import Session

_locks: WeakValueDictionary[tuple[str, str, str], threading.Lock] = WeakValueDictionary()
_adding = threading.Lock()


@contextmanager
def turn(session: Session, task: str) -> Iterator[None]:
    """The right to work on a task of the caller, after the calls that came before."""
    key = (session.graph.uri, session.actor, task)
    with _adding:
        lock = _locks.get(key)
        if lock is None:
            lock = _locks[key] = threading.Lock()
    with lock:
        yield
