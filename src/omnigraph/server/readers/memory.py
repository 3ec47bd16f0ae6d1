"""Memory of readers: the size from which one is replaced, and the limit of a query in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from omnigraph.engine.query.memory import VARIABLE as QUERY_VARIABLE
from omnigraph.engine.query.memory import parsed, query_memory

READER_VARIABLE: Final = "OMNIGRAPH_READER_MEMORY"
READER_BYTES_MAX: Final = 2 * 2**30
"""Resident bytes of a reader from which it is replaced: caches and fragmentation grow, and a new process has none."""


def reader_memory(environment: Mapping[str, str] = os.environ) -> int:
    """Resident bytes from which a reader is replaced."""
    setting = environment.get(READER_VARIABLE, "").strip()
    return parsed(setting, READER_VARIABLE) if setting else READER_BYTES_MAX


def reader_environment(readers: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a reader. All readers together share the default limit of a query."""
    if environment.get(QUERY_VARIABLE, "").strip():
        return dict(environment)
    return {**environment, QUERY_VARIABLE: str(query_memory(None, environment) // max(readers, 1))}
