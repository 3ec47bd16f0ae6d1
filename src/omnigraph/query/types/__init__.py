"""Type rules of expressions: operators, lists, and the table of scalar functions with their calls."""
