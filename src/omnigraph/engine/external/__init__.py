"""External types of a graph: listing the versions that a commit pins, and refreshing them."""
