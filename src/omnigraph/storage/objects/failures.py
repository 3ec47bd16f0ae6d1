"""Failures of Lance and of the operating system, translated once.

Lance raises ``OSError``, ``ValueError`` or ``RuntimeError`` for everything that is not a conflict, so the type carries
no information and the text is for people only. Damaged bytes can also make it panic, which raises a ``BaseException``
whose class exists only after the first panic.
"""

from __future__ import annotations

from types import TracebackType

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


class translated:  # noqa: N801 # a context manager that reads like a function
    """Turn a failure inside into a ``StorageError`` that begins with ``what``. A panic means damaged bytes.

    A class because every read of a branch enters one: a generator takes three times as long.
    """

    __slots__ = ("_facts", "_what")

    def __init__(self, what: str, **facts: str) -> None:
        self._what = what
        self._facts = facts

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, _FOREIGN):
            raise StorageError(f"{self._what}: {error}", **self._facts) from error
        if isinstance(error, _panics()):
            hint = verify_hint("lists the damaged files")
            raise CorruptionError(f"{self._what}: {error}", hint=hint, **self._facts) from error
