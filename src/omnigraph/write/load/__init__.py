"""Loads: rows of any number of types as one atomic commit, in memory or bounded by disk."""
