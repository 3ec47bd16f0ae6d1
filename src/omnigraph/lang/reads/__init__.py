"""Reads in ``.gq``: the sections of a read body, and texts of other query languages."""
