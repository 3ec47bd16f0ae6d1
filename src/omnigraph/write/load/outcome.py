"""Outcome of a load, as its loader returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.manifest.queue import Published
from omnigraph.write.preview import Previewed


@dataclass(frozen=True, slots=True)
class Loaded:
    """The entities of the input by table, and the commit or its preview."""

    counts: Mapping[str, int]
    finished: Published | Previewed
    cleared: int = 0
    """Values that became null because the input did not name them."""
    remarks: tuple[str, ...] = ()
    """Facts about the input that are no violations, as sentences."""
