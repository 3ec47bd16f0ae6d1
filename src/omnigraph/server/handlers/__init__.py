"""Handlers: plain functions from a call and what its body means to an answer, one module per family of routes."""
