"""Permits: the port that decides about actors, and the actor that calls a graph."""
