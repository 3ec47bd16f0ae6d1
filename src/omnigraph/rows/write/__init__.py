"""Rows and query results to JSON, CSV and Python values."""
