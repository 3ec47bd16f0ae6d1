"""Graphs as the stores of other frameworks: LangChain, LangGraph and LlamaIndex.

Each folder owns one framework and is imported by its users only; the modules beside them know none.
"""
