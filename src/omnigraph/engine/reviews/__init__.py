"""Saved reviews of merges: small files beside the tables of a graph, never part of its history."""
