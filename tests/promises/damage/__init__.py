"""Damage of any single file: every verb survives it, ``verify`` finds it, and no answer is wrong in silence."""
