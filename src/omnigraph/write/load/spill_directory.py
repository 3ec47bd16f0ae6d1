"""Directories for what a write keeps on disk beside the graph.

They go with the write, and those of processes that were killed go with the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PREFIX = "omnigraph-load-"
_LOCK = "lock"
"""Held by the process that uses the directory, and by nobody once that is gone, however it went."""


@contextmanager
def scratch_directory() -> Iterator[str]:
    """A directory that is gone afterwards, whatever happens."""
    _remove_abandoned()
    directory = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        # Locked before it has its name: a directory with a lock that nobody holds is an abandoned one.
        with open(os.path.join(directory, f".{_LOCK}"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(lock.name, os.path.join(directory, _LOCK))
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _remove_abandoned() -> None:
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        if name.startswith(_PREFIX):
            # What belongs to others, or is going away at this moment, is left to them.
            with suppress(OSError), open(os.path.join(parent, name, _LOCK), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
