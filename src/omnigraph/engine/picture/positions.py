"""Positions of drawn nodes, kept with the other derived arrays of a graph.

They depend on the structure alone, which is their key. So pictures of the same entities share them across commits and
actors, and an entry is never stale.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from omnigraph.engine.picture.layout import Numbers, Points, layout
from omnigraph.engine.snapshot import Snapshot
from omnigraph.manifest.layout import read_stamp
from omnigraph.storage.tables.array_cache import ArrayCache, cache_directory

GROUP: Final = "positions"
ALGORITHM: Final = 2
"""Part of the key: a change of the layout makes the kept positions unused."""

KEPT_NODES_MIN: Final = 200
"""Smaller layouts are computed faster than they are read."""


def positions(snapshot: Snapshot, nodes: int, sources: Numbers, targets: Numbers) -> Points:
    """A point for each node, from the cache or computed."""
    if nodes < KEPT_NODES_MIN:
        return layout(nodes, sources, targets)
    files = ArrayCache(cache_directory(snapshot.store.root.path, read_stamp(snapshot.store).graph_id))
    key = _key(nodes, sources, targets)
    entry = files.entry(GROUP, key)
    known = None if entry is None else entry.array("points")
    if entry is not None and known is not None and known.shape == (nodes, 2):
        files.touch(entry)
        return known
    points = layout(nodes, sources, targets)
    files.save(GROUP, key, {"nodes": nodes}, {"points": points})
    return points


def _key(nodes: int, sources: Numbers, targets: Numbers) -> str:
    digest = hashlib.sha256(f"{ALGORITHM} {nodes}".encode())
    for ends in (sources, targets):
        digest.update(np.ascontiguousarray(ends, dtype=np.int64).tobytes())
    return digest.hexdigest()[:32]
