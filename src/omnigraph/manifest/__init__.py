"""The manifest of a branch: reading it, branching it, and the one door through which it is changed."""
