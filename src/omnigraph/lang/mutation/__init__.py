"""Statements of mutations in ``.gq``."""
