"""Merge, maintenance, export, views and analytics on a cluster."""
