"""The engine's port to Spark: ``omnigraph.engine.ports.Cluster``, implemented by this module.

``omnigraph.wiring`` hands it to the engine and thereby checks the signatures.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import Steps
from omnigraph.spark.jobs.cleanup import sweeper
from omnigraph.spark.jobs.documents import parallelism, run_documents
from omnigraph.spark.jobs.merge import merger
from omnigraph.spark.jobs.optimize import workers
from omnigraph.spark.jobs.resolve import match_finder
from omnigraph.spark.jobs.sql import sql_frame
from omnigraph.spark.jobs.tables import tables
from omnigraph.spark.jobs.views import views
from omnigraph.spark.load.api import run_load as load
from omnigraph.spark.load.api import run_preview as load_preview
from omnigraph.spark.query.api import query_frame, query_rows

__all__ = [
    "load",
    "load_preview",
    "match_finder",
    "merger",
    "parallelism",
    "query_frame",
    "query_rows",
    "run_documents",
    "spark_steps",
    "sql_frame",
    "sweeper",
    "tables",
    "views",
    "workers",
]


def spark_steps(
    snapshot: Snapshot,
    space: NodeSpace,
    chosen: ChosenEdges,
    form: Form,
    spark: Any,
    partitions: int | None,
    scratch: str | None,
) -> AbstractContextManager[Steps]:
    """The chosen edges on a cluster, unpersisted at the end."""
    # Algorithms need scipy, which other work on Spark does not.
    from omnigraph.spark.analytics import api

    return api.spark_steps(snapshot, space, chosen, form, spark, partitions, scratch)
