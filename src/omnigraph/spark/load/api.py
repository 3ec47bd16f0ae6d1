"""``load`` and ``load_preview``: from sources and options to the tasks of a Spark load."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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
from omnigraph.spark.load.runs import Run, Work
from omnigraph.spark.load.splits import plan_splits

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of JSON lines."""

Sources = Paths | Mapping[str, Any] | None
"""Files of JSON lines, or frames and paths by name for a mapping."""


def run_load(graph: Graph, sources: Sources, options: LoadOptions) -> LoadResult:
    """Load as one atomic commit, on the session given or on one of this machine.

    Without a ``mapping`` the sources are files of JSON lines, cut into about ``partitions`` slices. With one,
    ``sources`` are frames or paths by the names that the mapping uses; a source whose path the mapping states may be
    left out. ``LoadOptions`` describes the options.
    """
    options.parsed_mode()
    chosen = _checks(options.checks)
    aside = None if options.reject_to is None else os.fspath(options.reject_to)
    if aside is not None:
        require_new(aside)
    work = _work(graph, sources, options)
    return Run(work, chosen, Watch(work.spark, options.progress), aside, options.resume).load(graph, options)


def run_preview(graph: Graph, sources: Sources, options: LoadOptions) -> WritePreview:
    """The counts per table that ``load`` would commit.

    The whole input is read, checked, embedded and written to files that no reader can see, which are deleted again.
    With ``base``, a missing branch is taken to be like that one.
    """
    options.parsed_mode()
    chosen = _checks(options.checks)
    work = _work(graph, sources, options)
    return Run(work, chosen, Watch(work.spark, options.progress)).preview(graph, options)


load = takes(LoadOptions)(run_load)
load_preview = takes(LoadOptions)(run_preview)


def _work(graph: Graph, sources: Sources, options: LoadOptions) -> Work:
    # Mistakes that can be found without Spark are reported before it starts.
    store_options = graph.storage_options if options.source_options is None else options.source_options
    is_mapped = options.mapping is not None
    splits = [] if is_mapped else plan_splits(_paths(sources), options.partitions, store_options)
    frames = _named(sources) if is_mapped else {}
    running = session() if options.spark is None else check_session(options.spark)
    return LineFiles(running, splits) if options.mapping is None else MappedTables(running, options.mapping, frames)


def _checks(given: str | Checks) -> Checks:
    try:
        return Checks(given)
    except ValueError:
        known = ", ".join(kind.value for kind in Checks)
        raise UsageError(f"unknown value for checks: {given!r}", hint=f"expected one of {known}") from None


def _paths(sources: Sources) -> list[str]:
    match sources:
        case None | Mapping():
            raise UsageError(
                "without a mapping the sources are files of JSON lines", hint="name files, or pass mapping="
            )
        case str() | os.PathLike():
            return [os.fspath(sources)]
        case _:
            return [os.fspath(path) for path in sources]


def _named(sources: Sources) -> Mapping[str, Any]:
    if sources is not None and not isinstance(sources, Mapping):
        raise UsageError("with a mapping the sources have names", hint='pass {"name": path or DataFrame}')
    return sources or {}
