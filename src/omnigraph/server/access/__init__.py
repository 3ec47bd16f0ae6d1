"""Access control of the server: runtime states, and admission of writes."""
