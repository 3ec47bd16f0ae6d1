"""YAML configuration files: operator settings, load mappings, embedding jobs."""

from omnigraph.config.mapping_file import read_mapping

__all__ = ["read_mapping"]
