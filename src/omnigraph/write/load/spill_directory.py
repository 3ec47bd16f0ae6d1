"""Temporary directories of writes.

Each is deleted with its write; the next write deletes those of killed processes.
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
"""File lock of the process that uses the directory. The kernel releases it when the process ends in any way."""


@contextmanager
def scratch_directory() -> Iterator[str]:
    """A directory that is deleted on exit."""
    _remove_abandoned()
    directory = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        # Locked before the rename: a file named ``lock`` that is not held belongs to an abandoned directory.
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
            # Directories of other users, or deleted concurrently, are skipped.
            with suppress(OSError), open(os.path.join(parent, name, _LOCK), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
