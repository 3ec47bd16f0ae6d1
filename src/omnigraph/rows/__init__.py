"""Entities as Arrow rows: reading, validation, ids and writing. Pure computation over Arrow, independent of storage."""
