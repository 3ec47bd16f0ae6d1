"""Vectors of ``@embed`` properties: embedded once per text, reused from the committed table."""
