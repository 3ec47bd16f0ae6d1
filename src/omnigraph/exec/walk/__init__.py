"""Traversal operators: one hop, several hops, shortest paths, counted expansion."""
