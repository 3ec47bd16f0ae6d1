"""Clusters: connected components of matches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.algorithms.components import hooked
from omnigraph.exec.analytics.blocks import EdgeArrays
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import ArraySteps


def clusters_of(left: pa.Array, right: pa.Array) -> list[list[str]]:
    """The ids of every cluster, ascending; clusters in the order of their first id."""
    if not len(left):
        return []
    ids = pa.concat_arrays([left, right]).unique().sort()
    known = ids.to_pylist()
    places = {id_: place for place, id_ in enumerate(known)}
    ones, others = (
        np.fromiter((places[id_] for id_ in side.to_pylist()), np.int64, len(side)) for side in (left, right)
    )
    labels = hooked(ArraySteps(len(known), EdgeArrays(ones, others), Form.BOTH))
    found: dict[int, list[str]] = {}
    for id_, label in zip(known, labels.tolist(), strict=True):
        found.setdefault(label, []).append(id_)
    return list(found.values())
