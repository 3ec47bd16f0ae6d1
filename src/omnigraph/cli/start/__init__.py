"""The process of the command line: its start, its end, and the warm process that can run a command in its place."""
