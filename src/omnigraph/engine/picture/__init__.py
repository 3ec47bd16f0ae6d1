"""Interactive pictures of graphs: the entities to show, their layout, and one HTML page without other hosts."""
