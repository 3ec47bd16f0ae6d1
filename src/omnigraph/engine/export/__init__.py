"""Exports of a snapshot to files: JSON lines, CSV and Parquet."""
