"""Care of a graph: optimize, cleanup, verify, repair, doctor."""
