"""The embedded API: a graph, its branches and its history, in process."""
