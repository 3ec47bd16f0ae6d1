"""The manifest of a branch: reading it, branching it, and the publisher, through which every change goes."""
