"""The document pipeline: run and result."""
