"""Failures of Lance and of the operating system, translated once.

Lance says ``OSError``, ``ValueError`` or ``RuntimeError`` with a text for everything that is not a conflict, so the
type tells nothing and the text is for people only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import StorageError

FOREIGN = (OSError, ValueError, RuntimeError)
"""What Lance, Arrow and the operating system raise when a store fails."""


@contextmanager
def translated(what: str, **facts: str) -> Iterator[None]:
    """Turn a failure inside into a ``StorageError`` that begins with ``what``."""
    try:
        yield
    except FOREIGN as error:
        raise StorageError(f"{what}: {error}", **facts) from error
