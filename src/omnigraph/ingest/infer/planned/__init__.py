"""Planned types: what inference hands from guess to guess, and tables of one edge type joined."""
