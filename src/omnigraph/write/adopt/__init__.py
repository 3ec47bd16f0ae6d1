"""Versions that other programs staged, adopted as one commit."""
