"""The part of a graph that an actor may see: its scope, its catalog, and the rewrite that keeps a query inside."""
