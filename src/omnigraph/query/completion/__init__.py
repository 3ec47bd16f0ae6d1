"""Completion of a query at a cursor: the syntax before it, and the names that fit."""
