"""Graphs in the forms of other graph libraries. Each library is imported in one module, when it is first used."""
