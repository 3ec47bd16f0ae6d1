"""Algorithms over whole graphs, and SQL over their tables."""
