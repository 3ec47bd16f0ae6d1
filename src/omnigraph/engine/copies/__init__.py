"""Copies of a graph: with its whole history (backup, restore), or the heads of some branches as a fresh graph."""
