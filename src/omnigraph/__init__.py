"""Omnigraph: a typed property graph on open Lance tables, with branches, merges and time travel.

``create`` makes a graph, ``open`` opens one, ``repair`` mends one that is damaged; everything else hangs on the
``Graph`` that they return. Importing this package loads neither Lance nor Arrow: they come with the first graph.
"""

from typing import TYPE_CHECKING, Any

from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph, create, repair
    from omnigraph.engine.graph import open_graph as open

__version__ = "0.1.0"

__all__ = ["Graph", "OmnigraphError", "__version__", "create", "open", "repair"]


def __getattr__(name: str) -> Any:
    if name in ("Graph", "create", "open", "repair"):
        from omnigraph.engine import graph

        return getattr(graph, "open_graph" if name == "open" else name)
    raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
