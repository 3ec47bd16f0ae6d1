"""Staging: fragments and detached versions that no reader can see yet."""
