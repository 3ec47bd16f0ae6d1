"""Schema changes: checks against the committed entities, and the commit."""
