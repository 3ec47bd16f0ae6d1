"""The policy library, imported on first use: it is part of an extra."""

from __future__ import annotations

from typing import Any, Final

from omnigraph.errors import UsageError

MISSING_HINT: Final = 'pip install "omnigraph[server]"'


def cedar() -> Any:
    """The module ``cedarpy``."""
    try:
        import cedarpy
    except ImportError as error:
        raise UsageError("policies need cedarpy, which is not installed", hint=MISSING_HINT) from error
    return cedarpy
