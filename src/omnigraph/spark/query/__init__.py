"""Execution of the query IR on Spark: each operator becomes a frame."""
