"""Requests and bytes of an outbox, counted. Stores of a local disk have no outbox, and import no more of it."""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests and bytes, read and written."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0
