"""External types: sealing the newest version of their tables, after the checks of a load."""
