"""Ends of edges in rows: nodes of one or several types."""
