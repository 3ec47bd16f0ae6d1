"""The document pipeline on a cluster: every task reads, divides, links and embeds a part of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.spark.cluster.connect import is_connect
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.write.documents.parts import DocumentPart, DocumentWork, WorkedPart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_PARTS = 8
"""Parts of a batch in a session of Spark Connect, which does not tell its cores."""


def run_documents(
    root: str, work: DocumentWork, parts: Sequence[DocumentPart], spark: SparkSession | None
) -> list[WorkedPart]:
    """Work on parts of a batch for a graph, a task each."""
    started = session() if spark is None else check_session(spark)
    with described(started, f"Omnigraph: documents {root}: {sum(len(part.documents) for part in parts):,} of a batch"):
        return run_tasks(started, work.run, list(parts))


def parallelism(spark: SparkSession | None) -> int:
    """The tasks that run at the same time."""
    started = session() if spark is None else check_session(spark)
    return CONNECT_PARTS if is_connect(started) else int(started.sparkContext.defaultParallelism)
