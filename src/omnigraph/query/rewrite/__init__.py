"""Rewrite passes over the IR: an ordered tuple of functions from tree to tree, one file each. Results never change."""

from omnigraph.query.rewrite.passes import PASSES, rewrite

__all__ = ["PASSES", "rewrite"]
