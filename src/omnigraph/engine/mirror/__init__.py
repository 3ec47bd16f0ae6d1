"""Mirrors: the newest state of a branch as ordinary Lance datasets."""
