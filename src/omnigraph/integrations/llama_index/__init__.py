"""LlamaIndex: a property graph store whose nodes and relations are entities of a graph.

``pip install "omnigraph[llama-index]"``.
"""

from omnigraph.integrations.llama_index.property_graph import OmnigraphPropertyGraphStore

__all__ = ["OmnigraphPropertyGraphStore"]
