"""The whole graph against a model of a few dozen lines: dictionaries of branches, tables and rows.

`plain` is the model and knows nothing of storage; `operations` says the same to both; `test_model` draws sequences
of them and compares after every step.
"""
