"""Values that every other package shares: scalar kinds, limits. Pure, and importing nothing but the standard library."""
