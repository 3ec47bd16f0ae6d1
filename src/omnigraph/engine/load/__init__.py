"""Writes of a graph: loads and mutations, and their previews."""
