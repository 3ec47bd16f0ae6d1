"""Creation of graphs and schema changes."""
