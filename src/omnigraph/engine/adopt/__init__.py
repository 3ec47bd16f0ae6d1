"""Commits of table versions that other programs staged."""
