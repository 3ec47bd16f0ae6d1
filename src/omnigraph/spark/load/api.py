"""``load`` and ``load_preview``: from sources and options to the tasks of a Spark load."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.load_options import LoadOptions, takes
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.load.frames import MappedTables
from omnigraph.spark.load.lines import LineFiles
from omnigraph.spark.load.publish import Checks
from omnigraph.spark.load.rejects import require_new
from omnigraph.spark.load.runs import LoadSource, Run
from omnigraph.spark.load.splits import plan_splits

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of JSON lines."""

Sources = Paths | Mapping[str, Any] | None
"""Files of JSON lines, or frames and paths by name for a mapping."""


def run_load(graph: Graph, sources: Sources, options: LoadOptions) -> LoadResult:
    """Load as one atomic commit, on the given session or on a local one.

    Without a ``mapping``, ``sources`` are files of JSON lines, divided into about ``partitions`` splits. With one,
    ``sources`` maps the names in the mapping to frames or paths; sources with a path in the mapping may be omitted.
    ``LoadOptions`` describes the options.
    """
    options.parsed_mode()
    chosen = _checks(options.checks)
    rejects_path = None if options.reject_to is None else os.fspath(options.reject_to)
    if rejects_path is not None:
        require_new(rejects_path)
    source = _source(graph, sources, options)
    return Run(source, chosen, Watch(source.spark, options.progress), rejects_path, options.resume).load(graph, options)


def run_preview(graph: Graph, sources: Sources, options: LoadOptions) -> WritePreview:
    """The counts per table that ``load`` would commit.

    The whole input is read, checked, embedded and written to files that no version references; they are deleted at
    the end. A branch that does not exist is previewed as a copy of ``base``.
    """
    options.parsed_mode()
    chosen = _checks(options.checks)
    source = _source(graph, sources, options)
    return Run(source, chosen, Watch(source.spark, options.progress)).preview(graph, options)


load = takes(LoadOptions, needs_data=False)(run_load)
load_preview = takes(LoadOptions, needs_data=False)(run_preview)


def _source(graph: Graph, sources: Sources, options: LoadOptions) -> LoadSource:
    # Validation that needs no Spark runs first: starting a JVM takes seconds.
    store_options = graph.storage_options if options.source_options is None else options.source_options
    is_mapped = options.mapping is not None
    splits = [] if is_mapped else plan_splits(_paths(sources), options.partitions, store_options)
    frames = _named(sources) if is_mapped else {}
    running = session() if options.spark is None else check_session(options.spark)
    return LineFiles(running, splits) if options.mapping is None else MappedTables(running, options.mapping, frames)


def _checks(given: str | Enum) -> Checks:
    try:
        return Checks(given)
    except ValueError:
        known = ", ".join(kind.value for kind in Checks)
        raise UsageError(f"unknown value for checks: {given!r}", hint=f"expected one of {known}") from None


def _paths(sources: Sources) -> list[str]:
    match sources:
        case None | Mapping():
            raise UsageError(
                "sources without a mapping must be files of JSON lines", hint="pass paths, or pass mapping="
            )
        case str() | os.PathLike():
            return [os.fspath(sources)]
        case _:
            return [os.fspath(path) for path in sources]


def _named(sources: Sources) -> Mapping[str, Any]:
    if sources is not None and not isinstance(sources, Mapping):
        raise UsageError("sources of a mapping must be named", hint='pass {"name": path or DataFrame}')
    return sources or {}
