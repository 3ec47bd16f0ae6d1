"""What a ``.pg`` schema means: types, the accepted schema with stable ids, the catalog to ask, migration planning.

Pure: no I/O and no clock. Nothing here knows how a type is stored.
"""
