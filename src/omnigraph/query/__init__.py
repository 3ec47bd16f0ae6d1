"""``.gq`` from syntax tree to checked, rewritten IR; parameters; lint; explain.

Pure: a catalog and a text go in, a plan or diagnostics come out. ``exec`` and ``spark`` run the plan.
"""
