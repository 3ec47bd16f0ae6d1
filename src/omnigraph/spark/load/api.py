"""``load`` and ``load_preview``: the public functions of Spark loads. They validate arguments and choose the source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.load.run import LoadRequest
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.progress import Report, Watch
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.load.frames import MappedTables
from omnigraph.spark.load.lines import LineFiles
from omnigraph.spark.load.publish import Checks
from omnigraph.spark.load.rejects import require_new
from omnigraph.spark.load.runs import LoadSource, Run
from omnigraph.spark.load.splits import plan_splits
from omnigraph.write.load.plan import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of JSON lines."""


def load(
    graph: Graph,
    sources: Paths | Mapping[str, Any] | None = None,
    mode: str | LoadMode = LoadMode.MERGE,
    *,
    mapping: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    checks: str | Checks = Checks.AUTO,
    branch: str = "main",
    base: str | None = None,
    actor: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
    provenance: Mapping[str, str] | None = None,
    progress: Report | None = None,
    reject_to: str | os.PathLike[str] | None = None,
    resume: bool = False,
    source_options: Mapping[str, str] | None = None,
    profile: bool = False,
) -> LoadResult:
    """Load as one atomic commit, on the given session or on a local one.

    Without a ``mapping``, ``sources`` are files of JSON lines, divided into about ``partitions`` splits. With one,
    ``sources`` maps the names in the mapping to frames or paths; sources with a path in the mapping may be omitted.

    * ``checks``: where keys are compared: ``driver``, ``cluster``, or ``auto`` by the number of rows.
    * ``progress``: callback for the stage, its tasks and the rows written so far.
    * ``reject_to``: a new file for invalid rows; the valid rows are loaded.
    * ``resume``: continue an identical load that was killed, if there is one.
    * ``source_options``: options of the object store of JSON-lines files; default: those of the graph.
    * ``profile``: include a profile of every step in the result.
    """
    request = LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {}, profile)
    request.parsed_mode()
    chosen = _checks(checks)
    rejects_path = None if reject_to is None else os.fspath(reject_to)
    if rejects_path is not None:
        require_new(rejects_path)
    source = _source(graph, sources, mapping, spark, partitions, source_options)
    return Run(source, chosen, Watch(source.spark, progress), rejects_path, resume).load(graph, request)


def load_preview(
    graph: Graph,
    sources: Paths | Mapping[str, Any] | None = None,
    mode: str | LoadMode = LoadMode.MERGE,
    *,
    mapping: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    checks: str | Checks = Checks.AUTO,
    branch: str = "main",
    base: str | None = None,
    progress: Report | None = None,
    source_options: Mapping[str, str] | None = None,
) -> WritePreview:
    """Preview ``load``: the changes to each table, without a commit.

    The whole input is read, checked, embedded and written to files that no version references; they are deleted at the
    end. A branch that does not exist is previewed as a copy of ``base``.
    """
    request = LoadRequest(mode, branch, base)
    request.parsed_mode()
    chosen = _checks(checks)
    source = _source(graph, sources, mapping, spark, partitions, source_options)
    return Run(source, chosen, Watch(source.spark, progress)).preview(graph, request)


def _source(
    graph: Graph,
    sources: Paths | Mapping[str, Any] | None,
    mapping: Mapping[str, Any] | None,
    spark: SparkSession | None,
    partitions: int | None,
    source_options: Mapping[str, str] | None,
) -> LoadSource:
    # Validation that needs no Spark runs first: starting a JVM takes seconds.
    options = graph.storage_options if source_options is None else source_options
    splits = plan_splits(_paths(sources), partitions, options) if mapping is None else []
    frames = {} if mapping is None else _named(sources)
    running = session() if spark is None else check_session(spark)
    return LineFiles(running, splits) if mapping is None else MappedTables(running, mapping, frames)


def _checks(given: str | Checks) -> Checks:
    try:
        return Checks(given)
    except ValueError:
        known = ", ".join(kind.value for kind in Checks)
        raise UsageError(f"unknown value for checks: {given!r}", hint=f"use one of {known}") from None


def _paths(sources: Paths | Mapping[str, Any] | None) -> list[str]:
    match sources:
        case None | Mapping():
            raise UsageError(
                "sources without a mapping must be files of JSON lines", hint="pass paths, or pass mapping="
            )
        case str() | os.PathLike():
            return [os.fspath(sources)]
        case _:
            return [os.fspath(path) for path in sources]


def _named(sources: Paths | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if sources is not None and not isinstance(sources, Mapping):
        raise UsageError("sources of a mapping must be named", hint='pass {"name": path or DataFrame}')
    return sources or {}
