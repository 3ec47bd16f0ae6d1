"""Operators that follow edges: one hop, several hops, shortest paths, counted walks."""
