"""Entity resolution as a write: clusters become one entity each, and their edges move to it."""
