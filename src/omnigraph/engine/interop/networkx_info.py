"""The description of the backend that NetworkX shows. It is imported with NetworkX, so it imports nothing."""

from __future__ import annotations

from typing import Any

FUNCTION_NAMES = (
    "pagerank",
    "connected_components",
    "weakly_connected_components",
    "strongly_connected_components",
    "number_connected_components",
    "number_weakly_connected_components",
    "number_strongly_connected_components",
    "single_source_shortest_path_length",
    "single_source_dijkstra_path_length",
    "triangles",
    "degree_centrality",
    "in_degree_centrality",
    "out_degree_centrality",
)


def get_info() -> dict[str, Any]:
    """The description of the backend."""
    return {
        "backend_name": "omnigraph",
        "project": "omnigraph",
        "package": "omnigraph",
        "short_summary": "Algorithms over graphs stored in Omnigraph, on sparse matrices.",
        "functions": {name: {} for name in FUNCTION_NAMES},
    }
