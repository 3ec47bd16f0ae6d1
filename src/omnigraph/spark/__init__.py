"""Omnigraph on Spark: for data that one machine should not carry.

Loads, exports, queries, merges, maintenance, algorithms, views and the data source.

Needs the extra ``spark``: ``pip install "omnigraph[spark]"``. Nothing here starts a JVM before it is asked to.
"""

from omnigraph.spark.cluster.session import at_start, check_session, session
from omnigraph.spark.jobs.cleanup import sweeper
from omnigraph.spark.jobs.export import export
from omnigraph.spark.jobs.merge import merger
from omnigraph.spark.jobs.optimize import workers
from omnigraph.spark.jobs.views import views
from omnigraph.spark.load.api import load, load_preview
from omnigraph.spark.query.api import query, query_frame, query_rows
from omnigraph.spark.source.registration import register

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

# The session cannot import the data source, which loads through it.
at_start(register)
