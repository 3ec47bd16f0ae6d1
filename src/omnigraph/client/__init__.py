"""Graphs behind HTTP: ``omnigraph.open("https://host/graphs/kb")`` gives a ``RemoteGraph`` with the verbs of ``Graph``.

The room owns the HTTP client library. Errors come back as the classes of the one tree, results as those of the engine.
"""
