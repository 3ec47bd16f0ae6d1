"""Differences between two versions of a table, for diff, change feed, merge and Spark."""
