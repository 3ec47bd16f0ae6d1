"""JSON forms of everything that leaves a graph: errors, results, commits, changes, previews.

One module per family, one function ``..._json`` per form. The command line prints what these functions return, and a
server sends the same. Formats that graphs are stored in are not here: they belong to the packages that store them.
"""
