"""Omnigraph on Spark: bulk load, export, queries, maintenance and the data source, for more than one machine's data.

Needs the extra ``spark``: ``pip install "omnigraph[spark]"``. Nothing here starts a JVM before it is asked to.
"""

from omnigraph.spark.cleanup import sweeper
from omnigraph.spark.export import export
from omnigraph.spark.load import load
from omnigraph.spark.maintenance import workers
from omnigraph.spark.query import query, query_frame, query_rows
from omnigraph.spark.session import check_session, register, session

__all__ = [
    "check_session",
    "export",
    "load",
    "query",
    "query_frame",
    "query_rows",
    "register",
    "session",
    "sweeper",
    "workers",
]
