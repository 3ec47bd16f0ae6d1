"""The ``omnigraph`` command: reads files and arguments, calls the packages below, prints what they return.

One module per command or group of commands, imported when it is called. Nothing here decides what a schema or a query
means.
"""
