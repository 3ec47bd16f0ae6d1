"""Whole tables: filters and aggregates over cached columns, without a number per row."""
