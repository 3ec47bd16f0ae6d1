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
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.load.frames import MappedTables
from omnigraph.spark.load.lines import LineFiles
from omnigraph.spark.load.publish import Checks
from omnigraph.spark.load.runs import LoadSource, Run
from omnigraph.spark.load.splits import plan_groups
from omnigraph.spark.load.typed_sources import derive_mapping
from omnigraph.write.load.reject.file import require_new

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of JSON lines."""

Sources = Paths | Mapping[str, Any] | None
"""Files of JSON lines, or frames and paths by name for a mapping."""


def run_load(graph: Graph, sources: Sources, options: LoadOptions) -> LoadResult:
    """Load as one atomic commit, on the given session or on a local one.

    Without a ``mapping``, ``sources`` are files of JSON lines, divided into about ``partitions`` splits, or files and
    frames of one type (``type_name``), or by the name of their type. With one,
    ``sources`` maps the names in the mapping to frames or paths; sources with a path in the mapping may be omitted.
    ``LoadOptions`` describes the options.
    """
    chosen = _checks(options.checks)
    earlier = graph.earlier_load(options)
    if earlier is not None:
        return earlier
    if options.reject_to is not None:
        require_new(os.fspath(options.reject_to))
    source = _source(graph, sources, options)
    return Run(source, chosen, Watch(source.spark, options.progress)).load(graph, options)


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
    mapping: Mapping[str, Any] | None
    if options.mapping is None:
        mapping, frames = derive_mapping(_catalog(graph, options), sources, options, store_options)
    else:
        mapping, frames = options.mapping, options.named_sources(sources)
    groups = plan_groups(_paths(sources), options.partitions, store_options) if mapping is None else []
    running = session() if options.spark is None else check_session(options.spark)
    return LineFiles(running, groups) if mapping is None else MappedTables(running, mapping, frames)


def _catalog(graph: Graph, options: LoadOptions) -> Catalog:
    """The types of the branch, or of the one that it will be created from."""
    try:
        return graph.catalog(options.branch)
    except NotFoundError:
        return graph.catalog(options.base or MAIN)


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
