"""Omnigraph on Spark: for data that one machine should not carry.

Loads, exports, queries, merges, maintenance, algorithms, views and the data source.

Needs the extra ``spark``: ``pip install "omnigraph[spark]"``. Nothing here starts a JVM before it is asked to.
"""

from omnigraph.spark.cleanup import sweeper
from omnigraph.spark.export import export
from omnigraph.spark.load import load, load_preview
from omnigraph.spark.maintenance import workers
from omnigraph.spark.merge import merger
from omnigraph.spark.query import query, query_frame, query_rows
from omnigraph.spark.session import check_session, register, session
from omnigraph.spark.views import views

__all__ = [
    "check_session",
    "export",
    "load",
    "load_preview",
    "merger",
    "query",
    "query_frame",
    "query_rows",
    "register",
    "session",
    "sweeper",
    "views",
    "workers",
]
