"""Terminal output: tables, formats, progress, excerpts, logs."""
