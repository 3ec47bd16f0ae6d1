"""A writer may die or fail at any storage operation: the graph stays intact, and other writers continue immediately.

`writers` lists every kind of writer, `write_once` is the program that runs one, `sweep` runs it with a fault and judges
what it left. Each test walks positions of one writer: a sample always, all of them in the long suite.
"""
