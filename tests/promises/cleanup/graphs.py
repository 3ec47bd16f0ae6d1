"""Short ways to make graphs old and to look at what is left of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import omnigraph
from tests.promises.cleanup.reachable import files, garbage, needed

HOUR_US = 3_600_000_000


class Hands:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.us = 1_700_000_000_000_000

    def now_us(self) -> int:
        return self.us

    def turn(self, hours: float) -> None:
        self.us += int(hours * HOUR_US)


def root(graph: omnigraph.Graph) -> Path:
    return Path(graph.uri)


def age(graph: omnigraph.Graph, hours: float = 1000) -> None:
    """Make every file look as if it had been written long ago."""
    moment = time.time() - hours * 3600
    for path in files(root(graph)):
        os.utime(root(graph) / path, (moment, moment))


def check_tidy(graph: omnigraph.Graph) -> None:
    """What is needed is there, and nothing else but little garbage of live manifests."""
    found, wanted = files(root(graph)), needed(root(graph))
    assert wanted <= found
    extra = found - wanted
    assert garbage(root(graph)) == set()
    branches = len([path for path in found if path.startswith("refs/")]) + 1
    fences = len([path for path in found if path.startswith("cleanup/")])
    assert len(extra) <= branches * (fences + 3)
    report = graph.verify()
    assert report.is_clean, report.problems


def directories(graph: omnigraph.Graph) -> list[str]:
    return [place for place, _, _ in os.walk(root(graph))]
