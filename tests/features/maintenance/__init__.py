"""Optimize: other files, same graph."""
