"""JSON values as canonical texts, and their merge."""
