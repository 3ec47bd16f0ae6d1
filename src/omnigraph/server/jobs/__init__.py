"""Jobs: work that outlives its request."""
