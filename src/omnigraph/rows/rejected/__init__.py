"""Rejected rows of a load: their violations by place, and their records."""
