"""Rows of the operations that Omnigraph 0.10 does not have."""
