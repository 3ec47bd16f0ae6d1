"""Conversion of values and columns to the types of properties, and the problems that conversions report."""
