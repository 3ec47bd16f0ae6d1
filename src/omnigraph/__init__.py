"""Omnigraph: a typed property graph on open Lance tables, with branches, merges and time travel."""

from omnigraph.errors import OmnigraphError

__version__ = "0.1.0"

__all__ = ["OmnigraphError", "__version__"]
