"""LangGraph: a checkpointer and a store whose data are entities of a graph.

``pip install "omnigraph[langgraph]"``. Both keep their entities in types of their own, so that they can share a graph
with other data; a graph of their own keeps its history apart.
"""

from omnigraph.integrations.langgraph.checkpointer import OmnigraphSaver
from omnigraph.integrations.langgraph.store import OmnigraphStore

__all__ = ["OmnigraphSaver", "OmnigraphStore"]
