"""``load`` and ``load_preview``: the doors of Spark loads. Says what can be loaded and turns it into tasks."""

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
from omnigraph.spark.load.runs import Run, Work
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
    """Load as one commit, on the session given or on one of this machine.

    Without a ``mapping`` the sources are files of JSON lines, cut into about as many ``partitions`` as wanted. With
    one, ``sources`` are frames or paths by the names that the mapping uses; those it has paths for may be left out.
    ``checks`` says who compares keys: the ``driver`` alone, the ``cluster``, or by the number of rows (``auto``).
    ``progress`` is told the stage, its tasks and the rows written so far. With ``reject_to``, rows that something is
    wrong with are written into that new file, and the others are loaded. With ``resume``, a load that was asked for
    the same and killed goes on where it was. ``source_options`` are options of the object store that files of JSON
    lines are in, those of the graph if not given. With ``profile`` the result tells what every step did.
    """
    request = LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {}, profile)
    request.parsed_mode()
    chosen = _checks(checks)
    aside = None if reject_to is None else os.fspath(reject_to)
    if aside is not None:
        require_new(aside)
    work = _work(graph, sources, mapping, spark, partitions, source_options)
    return Run(work, chosen, Watch(work.spark, progress), aside, resume).load(graph, request)


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
    """What ``load`` would do to each table. All of the input is read, checked, embedded and written to files that
    nobody can see, which are deleted again. With ``base`` a missing branch is taken to be like that one."""
    request = LoadRequest(mode, branch, base)
    request.parsed_mode()
    chosen = _checks(checks)
    work = _work(graph, sources, mapping, spark, partitions, source_options)
    return Run(work, chosen, Watch(work.spark, progress)).preview(graph, request)


def _work(
    graph: Graph,
    sources: Paths | Mapping[str, Any] | None,
    mapping: Mapping[str, Any] | None,
    spark: SparkSession | None,
    partitions: int | None,
    source_options: Mapping[str, str] | None,
) -> Work:
    # What can be said without Spark is said before it starts.
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
        raise UsageError(f"{given!r} is not where checks are made", hint=f"it is one of {known}") from None


def _paths(sources: Paths | Mapping[str, Any] | None) -> list[str]:
    match sources:
        case None | Mapping():
            raise UsageError(
                "without a mapping the sources are files of JSON lines", hint="name files, or pass mapping="
            )
        case str() | os.PathLike():
            return [os.fspath(sources)]
        case _:
            return [os.fspath(path) for path in sources]


def _named(sources: Paths | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if sources is not None and not isinstance(sources, Mapping):
        raise UsageError("with a mapping the sources have names", hint='pass {"name": path or DataFrame}')
    return sources or {}
