"""History of a graph: diff, change feed, changes of a commit, moments in time."""
