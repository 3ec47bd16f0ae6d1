"""Graphs declared as code: the configuration of a cluster, what was applied of it, and what a server serves of that."""
