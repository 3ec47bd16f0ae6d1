"""Blocks of clauses as written: their size, and the names they mention."""
