"""SQL over the tables of a snapshot."""

from omnigraph.exec.sql.run import SqlParams, run_sql

__all__ = ["SqlParams", "run_sql"]
