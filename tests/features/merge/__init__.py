"""Merging branches, and what it stands on: the comparison of two versions of a table."""
