"""Semantics of ``.pg`` schemas: types, the accepted schema with stable ids, the catalog, migration planning.

Pure: no I/O and no clock. Nothing here knows how a type is stored.
"""
