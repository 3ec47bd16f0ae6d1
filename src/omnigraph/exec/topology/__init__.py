"""Neighbour lists of edge types: built, cached, updated, and looked up by index."""
