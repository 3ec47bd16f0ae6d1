"""Patterns over interfaces, any type and any edge: one concrete pattern per combination of types, and their union."""
