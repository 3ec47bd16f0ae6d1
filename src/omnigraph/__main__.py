"""``python -m omnigraph``: the command line without its script on the path."""

from omnigraph.cli.main import program

program()
