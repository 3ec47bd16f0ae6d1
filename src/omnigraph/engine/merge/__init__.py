"""Merges of branches: run, choice of engine, result."""
