"""Writes that are only looked at: they read and check like the others, and end before anything is staged."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.manifest.reader import Capture

Counts = tuple[int, int, int]
"""Entities inserted, updated and deleted."""


class Previewed(Exception):
    """The end of such a write: what it would have done, by table, to the state with this head."""

    def __init__(self, capture: Capture, counts: Mapping[str, Counts]) -> None:
        super().__init__(capture.state.head)
        self.head = capture.state.head
        self.counts = counts
