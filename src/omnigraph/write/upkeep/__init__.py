"""Maintenance writers: compaction, indexes, garbage collection, and integrity checks."""
