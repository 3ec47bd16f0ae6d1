"""Mutations: the statements of a ``.gq`` mutation as one delta per table."""
