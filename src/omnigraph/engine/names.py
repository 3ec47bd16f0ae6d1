"""Names that a caller passes one by one or as a list."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.errors import UsageError


def name_list(given: str | Sequence[object], what: str) -> list[str]:
    """One name or several, without repetition; ``what`` they name is said in errors."""
    names: dict[str, None] = {}
    for name in [given] if isinstance(given, str) else given:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is no name of a {what}", hint=f"pass the name of a {what}, or a list of names")
        names[name] = None
    if not names:
        raise UsageError(f"no {what} is named", hint=f"pass the name of a {what}, or leave it out")
    return list(names)
