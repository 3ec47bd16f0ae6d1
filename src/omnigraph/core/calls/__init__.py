"""Behaviour that public calls share: checked arguments, retries, short tracebacks."""
