"""Rewrites of the IR: an ordered tuple of functions from tree to tree, one file each. None changes an answer."""

from omnigraph.query.rewrite.passes import PASSES, rewrite

__all__ = ["PASSES", "rewrite"]
