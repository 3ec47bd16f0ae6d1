"""Diagnostics of the control plane: every problem has a stable code, a severity and the place it was found at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.errors import ClusterInvalid


class Severity(StrEnum):
    """Errors fail a command; warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. ``path`` is a key of ``cluster.yaml``, a file, or the address of a resource."""

    code: str
    severity: Severity
    path: str
    message: str


def problem(code: str, path: str, message: str) -> Diagnostic:
    """A problem that fails the command."""
    return Diagnostic(code, Severity.ERROR, path, message)


def warning(code: str, path: str, message: str) -> Diagnostic:
    """A problem that leaves something undone."""
    return Diagnostic(code, Severity.WARNING, path, message)


def note(code: str, path: str, message: str) -> Diagnostic:
    """A fact that an operator should know."""
    return Diagnostic(code, Severity.INFO, path, message)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """True if a command with these diagnostics has failed."""
    return any(item.severity is Severity.ERROR for item in diagnostics)


class Refused(Exception):
    """Ends a command with one diagnostic; never leaves this package."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(message)
        self.diagnostic = problem(code, path, message)


def as_error(diagnostic: Diagnostic) -> ClusterInvalid:
    """The error for callers that cannot list diagnostics, such as a server."""
    return ClusterInvalid(diagnostic.message, reason=diagnostic.code)
