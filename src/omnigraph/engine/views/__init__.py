"""Lazy views of the nodes and edges of a snapshot."""
