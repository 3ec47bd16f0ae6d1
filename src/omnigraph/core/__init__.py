"""Values that every other package shares: scalar kinds, limits, dates. Pure; imports only the standard library."""
