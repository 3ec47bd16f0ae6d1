"""Failures of Lance and of the operating system, translated once.

Lance raises ``OSError``, ``ValueError`` or ``RuntimeError`` for everything that is not a conflict, so the type carries
no information and the text is for people only. Damaged bytes can also make it panic, which raises a ``BaseException``
whose class exists only after the first panic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.core.hints import verify_hint
from omnigraph.errors import CorruptionError, StorageError

_FOREIGN: tuple[type[BaseException], ...] = (OSError, ValueError, RuntimeError)


def foreign() -> tuple[type[BaseException], ...]:
    """Exceptions of Lance, Arrow and the operating system for a failing store.

    Call it in the ``except`` clause: the class of a panic does not exist earlier.
    """
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
        raise CorruptionError(f"{what}: {error}", hint=verify_hint("lists the damaged files"), **facts) from error
