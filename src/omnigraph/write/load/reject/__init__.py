"""Rejected rows of a load: found by the checks, and written to a file with their reasons and records."""
