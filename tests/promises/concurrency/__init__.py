"""Eight processes on one graph: whatever they do at once, it is as if they had done it one after the other.

`workers` holds what a process does, `conftest` where the graph lies and how processes are started. Every scenario runs
on local disk and on S3, with a few rounds always and with many in the long suite.
"""
