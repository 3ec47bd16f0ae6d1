"""Expressions outside a query: formulas of merge policies, and filters over the properties of one type."""
