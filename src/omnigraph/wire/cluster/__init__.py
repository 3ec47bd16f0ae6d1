"""Clusters as JSON."""
