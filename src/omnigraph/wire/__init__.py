"""What is serialised, and how: the forms in which things are written down outside a graph."""
