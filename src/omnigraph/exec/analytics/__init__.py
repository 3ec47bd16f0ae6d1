"""Algorithms over whole graphs: numbered nodes, edges as lists, and what is computed from them.

An algorithm is written once. What differs between one process and a cluster is who makes a step over all edges
(``steps.py``). Needs the extra ``analytics``: ``pip install "omnigraph[analytics]"``.
"""
