"""Errors of the graph in the terms of the interface. The message and its hint stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import lance_namespace as ln

from omnigraph.errors import (
    AlreadyExistsError,
    ConflictError,
    CorruptionError,
    InputError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknown,
    ReadSetConflict,
    StorageError,
    ViolationError,
)

_ERRORS: list[tuple[type[OmnigraphError], type[ln.LanceNamespaceError]]] = [
    (AlreadyExistsError, ln.TableAlreadyExistsError),
    (ConflictError, ln.ConcurrentModificationError),
    (ViolationError, ln.TableSchemaValidationError),
    (NotFoundError, ln.TableVersionNotFoundError),
    (InputError, ln.InvalidInputError),
    # Asking again does not help.
    (CorruptionError, ln.InternalError),
    (StorageError, ln.ServiceUnavailableError),
    # A repeated batch is safe: it conflicts with its own commit, or returns it if it has an idempotency key.
    (OutcomeUnknown, ln.ServiceUnavailableError),
]
"""The first row that fits decides."""


class TableConflicts(ln.ConcurrentModificationError):
    """Tables that other commits have changed; ``tables`` holds the expected and the actual version of each."""

    def __init__(self, message: str, tables: Mapping[str, Sequence[int | None]]) -> None:
        super().__init__(message)
        self.tables = dict(tables)


def translated(error: OmnigraphError) -> ln.LanceNamespaceError:
    """An error of the graph as one of the interface."""
    text = hinted(error.message, error.hint)
    tables = error.facts.get("tables")
    if isinstance(error, ReadSetConflict) and isinstance(tables, Mapping):
        return TableConflicts(text, tables)
    return next((theirs(text) for ours, theirs in _ERRORS if isinstance(error, ours)), ln.InternalError(text))


def hinted(message: str, hint: str | None) -> str:
    """A message with its next step."""
    return f"{message}; {hint}" if hint else message
