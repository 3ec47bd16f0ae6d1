"""Omnigraph on Spark, for data beyond one machine: load, export, query, merge, maintenance, views, data source.

Requires the extra ``spark``: ``pip install "omnigraph[spark]"``. Importing this package starts no JVM; the first
operation that needs a session does.
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

# Registered here because the data source imports the session module: the reverse import would be a cycle.
at_start(register)
