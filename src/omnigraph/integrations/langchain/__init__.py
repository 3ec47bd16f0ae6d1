"""LangChain: a vector store, a retriever over typed nodes, and a graph store.

``pip install "omnigraph[langchain]"``.
"""

from omnigraph.integrations.langchain.graph_store import OmnigraphGraph
from omnigraph.integrations.langchain.retriever import OmnigraphRetriever
from omnigraph.integrations.langchain.vector_store import OmnigraphVectorStore

__all__ = ["OmnigraphGraph", "OmnigraphRetriever", "OmnigraphVectorStore"]
