"""Embedding providers: who turns a text into a vector. Handed to a graph as its ``Embedder``; the engine knows none."""

from omnigraph.embed.environment import configured, from_environment
from omnigraph.embed.offline import MockEmbedder
from omnigraph.embed.remote import RemoteEmbedder

__all__ = ["MockEmbedder", "RemoteEmbedder", "configured", "from_environment"]
