"""Handlers of screens that browse a graph."""
