"""Dictionary codes of columns, and their cache."""
