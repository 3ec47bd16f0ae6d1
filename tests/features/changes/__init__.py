"""Diff, change feed and revert, on chosen cases and on random histories against the plain model."""
