"""Pinned Lance tables: opening, scanning, filtering and comparing them."""
