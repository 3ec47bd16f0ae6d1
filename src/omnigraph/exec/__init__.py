"""The embedded executor: runs the query IR over one immutable snapshot, in process.

Rows are numpy arrays of row numbers, one per variable; properties are fetched when an expression asks for them.
Nothing here knows how a query was written, or which branch a snapshot came from.
"""
