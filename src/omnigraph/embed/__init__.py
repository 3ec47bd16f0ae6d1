"""Embedding providers, passed to a graph as its ``Embedder``. The engine itself depends on no provider."""

from omnigraph.embed.environment import configured, from_environment
from omnigraph.embed.offline import MockEmbedder
from omnigraph.embed.remote import RemoteEmbedder

__all__ = ["MockEmbedder", "RemoteEmbedder", "configured", "from_environment"]
