"""Serving state: graphs with their stored queries and policies, by address or from a cluster."""
