"""Graph algorithms over numbered nodes and edge lists; ``registry.py`` lists them.

An algorithm is written once. One process and a cluster differ only in the implementation of a step over all edges
(``steps.py``). Needs the extra ``analytics``: ``pip install "omnigraph[analytics]"``.
"""
