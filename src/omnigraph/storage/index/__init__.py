"""Lance indexes: building, probing, and text relevance."""
