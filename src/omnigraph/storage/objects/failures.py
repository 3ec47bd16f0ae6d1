"""Failures of Lance and of the operating system, translated once.

Lance says ``OSError``, ``ValueError`` or ``RuntimeError`` with a text for everything that is not a conflict, so the
type tells nothing and the text is for people only. Damaged bytes can also make it panic, which is a ``BaseException``
of a class that exists only once there was a panic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import CorruptionError, StorageError

_FOREIGN: tuple[type[BaseException], ...] = (OSError, ValueError, RuntimeError)


def foreign() -> tuple[type[BaseException], ...]:
    """What Lance, Arrow and the operating system raise when a store fails. To be called in the ``except`` clause."""
    return (*_FOREIGN, *_panics())


def _panics() -> tuple[type[BaseException], ...]:
    return tuple(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException")


def first_line(error: Exception) -> str:
    """The message of a client of obstore, without the internal detail that follows its first line."""
    return str(error).partition("\n")[0]


@contextmanager
def translated(what: str, **facts: str) -> Iterator[None]:
    """Turn a failure inside into a ``StorageError`` that begins with ``what``. A panic means damaged bytes."""
    try:
        yield
    except _FOREIGN as error:
        raise StorageError(f"{what}: {error}", **facts) from error
    except _panics() as error:
        raise CorruptionError(f"{what}: {error}", hint="omnigraph verify names what is damaged", **facts) from error
