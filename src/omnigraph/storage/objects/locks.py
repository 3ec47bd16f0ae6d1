"""Locks between the processes of one machine. The operating system releases them when a process ends, however it ends.

The correctness of the write protocol does not depend on them: they order work that would otherwise be lost or repeated,
and protect changes of names that a local file system cannot make conditional.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_process(directory: str) -> Iterator[None]:
    """An exclusive lock on a directory, held for a few system calls."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
