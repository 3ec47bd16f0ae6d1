"""Bulk load on Spark: tasks write fragments, jobs check them, one commit publishes them."""
