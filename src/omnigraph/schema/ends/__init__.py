"""Ends of edge types: the pairs of node types that they connect, and the tags of these types in tables."""
