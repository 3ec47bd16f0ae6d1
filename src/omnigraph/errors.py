"""Every error Omnigraph raises, as one tree.

    OmnigraphError
    ├── InputError                the caller's input is wrong; nothing was changed
    │   ├── CompileError          a .pg or .gq text does not parse or check (carries diagnostics)
    │   ├── ParameterError        query parameters do not fit their declaration
    │   ├── MigrationRefused      a schema change that cannot be planned
    │   └── UsageError            an argument or combination of arguments makes no sense
    └── NotFoundError             a name, file, branch, commit or query that does not exist

An error has a stable ``code`` for programs, a text for people (what is wrong, what was expected, what to do
next), ``facts`` with the values the text names, and ``retryable``: whether the same call may succeed later.
This module holds no text about particular situations; whoever raises knows the situation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol


class LocatedMessage(Protocol):
    """What an error needs to know of a compiler diagnostic."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    def render(self) -> str: ...


class OmnigraphError(Exception):
    """Root of the tree: catch this to catch everything Omnigraph raises on purpose."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: Mapping[str, object] = facts

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class InputError(OmnigraphError):
    """The input is wrong; nothing was changed."""

    code = "bad_request"


class CompileError(InputError):
    """A schema or query text that does not parse or check."""

    code = "compile_error"

    def __init__(self, diagnostics: Sequence[LocatedMessage]) -> None:
        super().__init__("\n".join(diagnostic.render() for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)


class ParameterError(InputError):
    """A query parameter is missing or has the wrong type."""

    code = "bad_parameter"


class MigrationRefused(InputError):
    """A schema change that cannot be planned at all, such as a rename hint that names nothing."""

    code = "migration_refused"


class UsageError(InputError):
    """Arguments that make no sense together."""

    code = "usage"


class NotFoundError(OmnigraphError):
    """A name that does not exist."""

    code = "not_found"
