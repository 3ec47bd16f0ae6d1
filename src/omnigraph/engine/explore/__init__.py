"""Reads for screens that browse a graph: entities one by one, in sorted pages, with their neighbours and history."""
