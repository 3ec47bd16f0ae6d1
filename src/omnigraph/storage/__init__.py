"""Lance and the object store: opening pins, staging files that no reader sees yet, committing detached versions.

The only package that imports ``lance`` and the object-store client. Nothing here knows about branches, commits of the
graph or types; it knows locations below one root, versions, columns and files.
"""
