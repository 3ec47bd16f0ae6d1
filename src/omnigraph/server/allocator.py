"""The allocator of processes that answer queries one after the other: memory that one frees is kept for the next.

The C library maps every array of a megabyte or more on its own, and unmaps it when it is freed. A query over some
hundred thousand rows makes several such arrays, and the kernel fills thousands of their pages with zeros, every time
again: two fifths of the processor time of the query.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

MAPPED_BYTES: Final = 16 * 2**20
"""Blocks from this size are mapped on their own, and go back to the system as soon as they are freed."""
KEPT_BYTES: Final = 64 * 2**20
"""Free memory at the end of a heap that is not handed back. ``exec.budget.hand_back`` hands it back explicitly."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


def keep_freed_memory(environment: Mapping[str, str] = os.environ) -> None:
    """Set the thresholds of glibc, unless the operator has; other C libraries have none."""
    if "GLIBC_TUNABLES" in environment or any(name.startswith("MALLOC_") for name in environment):
        return
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
