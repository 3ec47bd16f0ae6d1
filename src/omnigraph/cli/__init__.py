"""The ``omnigraph`` command: reads files and arguments, calls the packages below, prints what they return.

One module per command or command group, imported when it is called. Semantics of schemas and queries are not decided
here.
"""
