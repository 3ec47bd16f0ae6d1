"""Graph algorithms on a cluster: the operations of ``exec/analytics/steps.py`` over blocks of edges.

Vectors are arrays of the driver while they fit (``driver_steps.py``), and files that executors exchange otherwise
(``divided_steps.py``).
"""
