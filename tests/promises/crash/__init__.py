"""A writer may die or be failed at any storage operation: the graph stays whole, and anybody can go on at once.

`writers` lists every kind of writer, `write_once` is the program that runs one, `sweep` runs it with a fault and judges
what it left. Each test walks positions of one writer: a sample always, all of them in the long suite.
"""
