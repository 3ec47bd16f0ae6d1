"""Values and ports that every package shares: scalars, limits, dates, commits.

Imports only the standard library and ``errors``.
"""
