"""Reverts of commits: run and result."""
