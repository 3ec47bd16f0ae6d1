"""Rooms above the engine that a graph's own methods lead to.

They are found by name when they are first used, so nothing here depends on them: a graph works without Spark being
installed, and the layers stay as they are (ADR 8).
"""

from __future__ import annotations

import importlib
from typing import Any

SPARK = "omnigraph.spark"
EMBED = "omnigraph.embed"


def extension(name: str) -> Any:
    """The room of that name. It raises itself when what it needs is not installed."""
    return importlib.import_module(name)
