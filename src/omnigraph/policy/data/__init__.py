"""Rules about data: checked against a catalog, evaluated for an actor, and translated to predicates of queries."""
