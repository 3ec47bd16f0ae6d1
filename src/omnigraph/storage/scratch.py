"""Temporary directories of this process outside the root.

Each is deleted when it is closed or its process ends; the next process that needs one deletes those of killed
processes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from io import BufferedWriter

_LOCK = "lock"
"""File lock of the process that uses the directory. The kernel releases it when the process ends in any way."""


class ScratchDirectory:
    """A directory of one purpose, which its prefix names."""

    def __init__(self, prefix: str) -> None:
        _remove_abandoned(prefix)
        self.path = tempfile.mkdtemp(prefix=prefix)
        # Locked before the rename: a file named ``lock`` that is not held belongs to an abandoned directory.
        lock = open(os.path.join(self.path, f".{_LOCK}"), "wb")  # noqa: SIM115 # open as long as the directory exists
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(lock.name, os.path.join(self.path, _LOCK))
        self.close = weakref.finalize(self, _remove, self.path, lock)
        """Delete the directory, once."""


def _remove(path: str, lock: BufferedWriter) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lock.close()


def _remove_abandoned(prefix: str) -> None:
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        if name.startswith(prefix):
            # Directories of other users, or deleted concurrently, are skipped.
            with suppress(OSError), open(os.path.join(parent, name, _LOCK), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
