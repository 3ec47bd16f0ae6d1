"""Compiled queries: plans over few rows as closures over Python values, without Arrow, frames or reads."""
