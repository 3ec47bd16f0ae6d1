"""Dry runs: they read and check like any write, and end before anything is staged."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.manifest.reader import Capture

Counts = tuple[int, int, int]
"""Entities inserted, updated and deleted."""


class Previewed(Exception):
    """End of a dry run, with the counts by table and the head that they apply to."""

    def __init__(self, capture: Capture, counts: Mapping[str, Counts]) -> None:
        super().__init__(capture.state.head)
        self.head = capture.state.head
        self.counts = counts
