"""Cleanup: referenced files stay, unreferenced files go, and readers and writers are not disturbed.

`reachable` finds out by itself, with plain Lance, which files a graph needs; the tests hold the disk against that.
"""
