"""The algorithms, one module per question; ``exec/analytics/registry.py`` lists them with their parameters.

Each returns columns with one value per node, in the order of node numbers, and facts about the whole graph. Keyword
arguments have the names of the parameters in the registry. Functions of a ``Span`` run on the nodes of one span, which
may be on another machine.
"""
