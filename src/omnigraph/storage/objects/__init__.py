"""Object stores: small files, their durability and failures, and paths outside the graph."""
