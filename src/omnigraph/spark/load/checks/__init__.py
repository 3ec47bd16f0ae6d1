"""Constraints over several rows of a load, checked by the cluster or by the driver."""
