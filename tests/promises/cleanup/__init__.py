"""Cleanup: what is needed stays, everything else goes, and nobody notices.

`reachable` finds out by itself, with plain Lance, which files a graph needs; the tests hold the disk against that.
"""
