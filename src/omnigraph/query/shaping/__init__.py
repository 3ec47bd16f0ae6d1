"""Checks of what follows a match: aggregates, ``having``, ``limit`` and ``offset``."""
