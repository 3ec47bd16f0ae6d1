"""Casts of columns to scalars whose values have several forms, and the problems that casts report."""
