"""The address of a graph in an argument, and what is wrong with values that are something else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from omnigraph.core.display import with_article
from omnigraph.errors import UsageError

_SCHEMA = re.compile(r"\b(node|edge|interface)\s+\w+[^/\\]*\{|\n")


def graph_place(uri: Any) -> str | os.PathLike[str]:
    """The address of a graph; raises for values that are something else."""
    if isinstance(uri, str) and _SCHEMA.search(uri):
        raise UsageError(
            f"the address of a graph is a path or a prefix in a bucket, not the schema {uri[:40]!r}",
            hint='the address comes first, then the schema: omnigraph.create("graph.omni", schema)',
        )
    if isinstance(uri, str | os.PathLike):
        return uri
    is_data = hasattr(uri, "__arrow_c_stream__") or isinstance(uri, Mapping | list | tuple) or hasattr(uri, "nodes")
    raise UsageError(
        f"the address of a graph is a path or a prefix in a bucket, not {with_article(type(uri).__name__)}",
        hint='make a graph of the data: omnigraph.create("graph.omni", {"Person": people})'
        if is_data
        else 'open one with omnigraph.open("graph.omni")',
    )
