"""Stages of a read: the rows that one returns, and what a later one sees of them."""
