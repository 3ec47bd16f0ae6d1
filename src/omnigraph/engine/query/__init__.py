"""Queries of a graph: compile, choose the engine, run, and return the result."""
