"""What is serialised, and how: the forms in which things are written down outside a graph."""

from omnigraph.wire.mapping_file import read_mapping

__all__ = ["read_mapping"]
