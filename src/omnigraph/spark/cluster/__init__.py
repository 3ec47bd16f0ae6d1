"""Spark infrastructure: sessions, Java, tasks, Python workers, progress and limits."""
