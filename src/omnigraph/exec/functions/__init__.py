"""Kernels of scalar functions over Arrow values; ``query/types/rules.py`` describes the functions."""
