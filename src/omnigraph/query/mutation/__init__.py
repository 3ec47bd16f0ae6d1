"""Checks of mutation statements: syntax to IR."""
