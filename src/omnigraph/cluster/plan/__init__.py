"""The plan of a cluster: changes between what is declared and what was applied, decided by tables. Pure."""
